/**
 * The verdict of one policy. Elements are ranked by how precisely they name the caller (user, group, everyone), then by
 * how precisely they name the action (the action itself, `all`). The highest rank decides, and at equal rank a deny.
 * The order of the elements never matters. `all` does not include `manage`.
 */
import type { Access, Policy, PolicyAction, PolicyElement, Subject } from "./policy.ts";

export interface Verdict {
  readonly access: Access;
  /** The position of the element that decided. */
  readonly element: number;
  readonly subject: SubjectKind;
}

export type SubjectKind = "everyone" | "group" | "user";

const KINDS: readonly SubjectKind[] = ["everyone", "group", "user"];

export function verdictOf(policy: Policy, action: PolicyAction, subject: Subject): Verdict | null {
  let best: { weight: number; element: number } | null = null;
  for (const [index, element] of policy.entries()) {
    const kind = subjectRank(element, subject);
    const precision = actionRank(element, action);
    if (kind === null || precision === null) continue;
    const weight = weightOf(kind, precision, element.access);
    if (best === null || weight > best.weight) best = { weight, element: index };
  }
  if (best === null) return null;
  return { access: accessOf(best.weight), element: best.element, subject: KINDS[best.weight >> 2] ?? "everyone" };
}

/** Higher weights take precedence; odd ones are denies. The table `policy_rule` stores the same number. */
export function weightOf(subjectRank: number, actionRank: number, access: Access): number {
  return (subjectRank * 2 + actionRank) * 2 + (access === "deny" ? 1 : 0);
}

export function accessOf(weight: number): Access {
  return weight % 2 === 1 ? "deny" : "allow";
}

function subjectRank({ users, groups }: PolicyElement, { membershipId, groupIds }: Subject): number | null {
  if (users === undefined && groups === undefined) return 0;
  if (users?.includes(membershipId) === true) return 2;
  return groups?.some((id) => groupIds.has(id)) === true ? 1 : null;
}

function actionRank({ action: named }: PolicyElement, action: PolicyAction): number | null {
  if (named === undefined) return 0;
  if (named.includes(action)) return 1;
  return named.includes("all") && action !== "manage" ? 0 : null;
}
