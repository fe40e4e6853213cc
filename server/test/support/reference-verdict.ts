import type { PolicyAction, PolicyElement, Subject } from "../../src/access/policy/policy.ts";

export type ReferenceVerdict = "allow" | "deny" | null;

/**
 * The verdict of a policy, written from the table of ranks in docs/policies.md: it searches the ranks from the highest
 * to the lowest, while the product compares weights.
 */
export function referenceVerdict(
  policy: readonly PolicyElement[],
  action: PolicyAction,
  subject: Subject,
): ReferenceVerdict {
  const { membershipId, groupIds } = subject;
  const subjects: ((element: PolicyElement) => boolean)[] = [
    (element) => (element.users ?? []).some((id) => id === membershipId),
    (element) => (element.groups ?? []).some((id) => groupIds.has(id)),
    (element) => !("users" in element) && !("groups" in element),
  ];
  const actions: ((element: PolicyElement) => boolean)[] = [
    (element) => (element.action ?? []).some((each) => each === action),
    (element) =>
      !("action" in element) || (action !== "manage" && (element.action ?? []).some((each) => each === "all")),
  ];
  for (const isNamed of subjects) {
    for (const isMeant of actions) {
      const found = policy.filter((element) => isNamed(element) && isMeant(element)).map(({ access }) => access);
      if (found.includes("deny")) return "deny";
      if (found.includes("allow")) return "allow";
    }
  }
  return null;
}
