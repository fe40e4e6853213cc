/**
 * The access rule as SQL, for lists and for checks of many objects: owners may use what they own; for others the
 * nearest policy with a verdict decides, and if there is none, their permissions. access-decision.ts has the same rule for
 * single objects and says what decided. Tests compare the two.
 *
 * Each statement first collects the verdicts of the policies that concern the caller, by an index on the callers that
 * policies name. So its cost grows with those policies and with the rows that are read until a page is full.
 */
import { folderAction, type FolderType, type ObjectType, type PolicyAction, type PolicySource } from "./policy.ts";
import type { ReadScope } from "./read-scope.ts";
import { matchingActions } from "./rules.ts";

export interface RowAccess {
  /** The beginning of the statement. Empty if the scope is not filtered: then `mayUse` is `true`. */
  readonly with: string;
  /** The values of the parameters from `first` on. */
  readonly values: readonly unknown[];
  /** Whether the caller may use the row, which has an `owner_id`. The nearest verdict comes first. */
  mayUse(row: string, ...verdicts: readonly string[]): string;
  /** The same, without regard to ownership. */
  isAllowed(...verdicts: readonly string[]): string;
  /** Whether the caller owns the row. */
  isOwned(row: string): string;
  /** The verdict of the policy of the object with this id: true, false, or null if it has none. */
  own(id: string): string;
  /** The verdict of the nearest policy of this folder and those above it, up to the root. */
  inFolder(folder: string): string;
  /** The verdict of the policy of a root. */
  inRoot(home: string): string;
}

interface Objects {
  readonly type: ObjectType;
  /** The tree that they lie in, if they lie in folders. */
  readonly tree?: FolderType;
  readonly action?: PolicyAction;
}

/** `first` is the position of the first parameter. */
export function rowAccess(scope: ReadScope, { type, tree, action = "read" }: Objects, first: number): RowAccess {
  const [byPermission, member] = [`$${first}::boolean`, `$${first + 1}::bigint`];
  const verdicts = [`own_verdict as materialized (${verdictsOf(type, action, first)})`];
  if (tree !== undefined) {
    const inherited = folderAction(type, action);
    verdicts.push(`folder_verdict as materialized (${verdictsOf("folder", inherited, first)})`);
    verdicts.push(`root_verdict as materialized (${verdictsOf(`${tree}_root`, inherited, first)})`);
  }
  const isOwned = (row: string): string => `${row}.owner_id = ${member}`;
  const isAllowed = (...nearest: readonly string[]): string => `coalesce(${[...nearest, byPermission].join(", ")})`;
  const inRoot = (home: string): string => verdict("root_verdict", home);
  return {
    ...(scope.isFiltered
      ? { with: `with ${verdicts.join(", ")}`, values: [scope.byPermission, scope.membershipId, [...scope.groupIds]] }
      : { with: "", values: [] }),
    mayUse: (row, ...nearest) =>
      scope.isFiltered ? `((${isOwned(row)}) is true or ${isAllowed(...nearest)})` : "true",
    isAllowed,
    isOwned,
    own: (id) => verdict("own_verdict", id),
    inRoot,
    inFolder: (folder) => `coalesce(${verdict("folder_verdict", `${folder}.id`)}, (
      select ${isIn("above.id", "folder_verdict v where v.allows")}
        from unnest(${folder}.ancestors) with ordinality above (id, depth)
       where ${isIn("above.id", "folder_verdict v")} order by above.depth desc limit 1), ${inRoot(`${folder}.root_home`)})`,
  };
}

/**
 * `is true` makes PostgreSQL look the id up in a hash table. Without it, the planner would choose a join, which scans the
 * verdicts for each row.
 */
function isIn(id: string, verdicts: string): string {
  return `(${id} in (select v.id from ${verdicts})) is true`;
}

function verdict(verdicts: string, id: string): string {
  return `case when ${isIn(id, `${verdicts} v`)} then ${isIn(id, `${verdicts} v where v.allows`)} end`;
}

/** The policies of `source` that have a verdict on the action for the caller. An odd weight denies (rules.ts). */
function verdictsOf(source: ObjectType | PolicySource, action: PolicyAction, first: number): string {
  const actions = matchingActions(action).map((each) => `'${each}'`);
  const matching = (kind: number, subject: string): string =>
    `select rule.source_id as id, rule.weight from policy_rule rule
      where rule.source_type = '${source}' and rule.kind = ${kind} and rule.subject_id = ${subject}
        and rule.action in (${actions.join(", ")})`;
  return `select matching.id, max(matching.weight) % 2 = 0 as allows
            from (${matching(0, "0")} union all ${matching(1, `any ($${first + 2}::bigint[])`)}
                  union all ${matching(2, `$${first + 1}::bigint`)}) matching
           group by matching.id`;
}
