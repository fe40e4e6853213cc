/**
 * A policy as rows of `policy_rule`, so that lists find what a caller may read by an index. The verdict on an action is
 * the largest weight of the rows that match the caller and one of `matchingActions`; no row means no verdict.
 */
import type { Policy, PolicyAction } from "./policy.ts";
import { weightOf } from "./verdict.ts";

export interface PolicyRule {
  /** 0 everyone, 1 a group, 2 a user. */
  readonly kind: number;
  readonly subjectId: number;
  readonly action: string;
  readonly weight: number;
}

/** The action of an element that names none. Unlike `all` it includes `manage`. */
const EVERY_ACTION = "*";

export function rulesOf(policy: Policy): PolicyRule[] {
  const rules = policy.flatMap(({ access, action: actions, users, groups }) => {
    const subjects = [
      ...(users === undefined && groups === undefined ? [{ kind: 0, subjectId: 0 }] : []),
      ...(groups ?? []).map((subjectId) => ({ kind: 1, subjectId })),
      ...(users ?? []).map((subjectId) => ({ kind: 2, subjectId })),
    ];
    return subjects.flatMap(({ kind, subjectId }) =>
      (actions ?? [EVERY_ACTION]).map((action): PolicyRule => {
        const precision = action === "all" || action === EVERY_ACTION ? 0 : 1;
        return { kind, subjectId, action, weight: weightOf(kind, precision, access) };
      }),
    );
  });
  const distinct = new Map(rules.map((rule) => [Object.values(rule).join(" "), rule]));
  return [...distinct.values()];
}

/** The values of `policy_rule.action` that apply to an action. */
export function matchingActions(action: PolicyAction): readonly string[] {
  return action === "manage" ? [action, EVERY_ACTION] : [action, "all", EVERY_ACTION];
}
