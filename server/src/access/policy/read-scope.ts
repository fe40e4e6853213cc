import type { PolicyAction } from "./policy.ts";
import { matchingActions } from "./rules.ts";

/** Which objects a list shows to the caller. */
export interface ReadScope {
  /** False: everything, because the caller is a system-admin or no policy of the account concerns these objects. */
  readonly isFiltered: boolean;
  /** Whether objects on which no policy has a verdict are shown. */
  readonly byTable: boolean;
  readonly membershipId: number;
  readonly groupIds: readonly number[];
}

/**
 * The values of a statement that contains the SQL of the functions below. Their `first` is the position of the first of
 * these values in the statement.
 */
export function scopeValues({ byTable, membershipId, groupIds }: ReadScope): readonly [boolean, number, number[]] {
  return [byTable, membershipId, [...groupIds]];
}

/**
 * SQL for the caller's verdict in one policy, which the SQL expressions `source` and `id` name: an even weight allows,
 * an odd one denies, null is no verdict. It reads all rules of the policy: use `verdictsOf` for many objects.
 */
export function verdictOn(source: string, id: string, first: number, action: PolicyAction = "read"): string {
  const actions = matchingActions(action).map((each) => `'${each}'`);
  return `(select max(rule.weight) from policy_rule rule
            where rule.source_type = ${source} and rule.source_id = ${id} and rule.action in (${actions.join(", ")})
              and (rule.kind = 0 or (rule.kind = 1 and rule.subject_id = any ($${first + 2}::bigint[]))
                   or (rule.kind = 2 and rule.subject_id = $${first + 1}::bigint)))`;
}

/**
 * SQL for whether an object outside folders is shown. `weight` is the SQL expression of the verdict of its policy,
 * `owner` that of its owner.
 */
export function isReadable(weight: string, owner: string, first: number): string {
  return `(${owner} is not distinct from $${first + 1}::bigint or coalesce(${weight} % 2 = 0, $${first}::boolean))`;
}

/**
 * SQL for all policies of `source` that have a verdict on reading for the caller, as rows of source_id and weight. They
 * are found by an index, so the work grows only with the policies that name the caller, one of their groups or
 * everyone.
 */
export function verdictsOf(source: string, first: number): string {
  const actions = matchingActions("read").map((action) => `'${action}'`);
  const matching = (kind: number, subject: string): string =>
    `select rule.source_id, rule.weight from policy_rule rule
      where rule.source_type = ${source} and rule.kind = ${kind} and rule.subject_id = ${subject}
        and rule.action in (${actions.join(", ")})`;
  return `select matching.source_id, max(matching.weight) as weight
            from (${matching(0, "0")} union all ${matching(1, `any ($${first + 2}::bigint[])`)}
                  union all ${matching(2, `$${first + 1}::bigint`)}) matching
           group by matching.source_id`;
}
