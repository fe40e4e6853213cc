import type { PolicyAction, PolicyElement, Subject } from "../../src/access/policy/policy.ts";

export type Opinion = "allow" | "deny" | null;

/**
 * The verdict of a policy as the text of the rules has it: searches the ranks from the highest to the lowest, while the
 * product compares weights.
 */
export function secondOpinion(policy: readonly PolicyElement[], action: PolicyAction, subject: Subject): Opinion {
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
