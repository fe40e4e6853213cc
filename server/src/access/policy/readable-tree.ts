import type { FolderType } from "./policy.ts";
import { verdictsOf } from "./read-scope.ts";

/**
 * SQL for the folders of the type whose contents the caller may read: from the readable roots and the folders with a
 * policy that allows reading, down to those with a policy that denies it. The work grows with them and with the policies,
 * not with what is hidden. Defines `below` (their ids), `root_verdict` and `allowed_root` in a recursive `with`; `first`
 * is the position of the first of the `scopeValues`.
 *
 * Nothing is found twice, so no `union` removes duplicates: its hash table, sized by guesses of the planner, would cost
 * far more than the search.
 */
export function readableTree(type: FolderType, first: number): string {
  const inRoot = `x.type = '${type}' and x.place_parent = 0`;
  const withoutVerdict = "f.id not in (select v.source_id from verdict v)";
  return `
    verdict as materialized (${verdictsOf("'folder'", first)}),
    root_verdict as materialized (${verdictsOf(`'${type}_root'`, first)}),
    allowed_root as materialized (select v.source_id as home_id from root_verdict v where v.weight % 2 = 0),
    folder_home as (
      select -1::bigint as home_id where $${first}::boolean
      union all
      select next.place_home from folder_home h cross join lateral (
        select x.place_home from folder x where ${inRoot} and x.place_home > h.home_id
         order by x.place_home limit 1) next),
    readable_root as (
      select a.home_id from allowed_root a
      union all
      select h.home_id from folder_home h where h.home_id not in (select v.source_id from root_verdict v)),
    below as (
      (select f.id from verdict v
        cross join lateral (select x.id, x.type from folder x where x.id = v.source_id limit 1) f
        where v.weight % 2 = 0 and f.type = '${type}'
       union all
       select f.id from readable_root r
        cross join lateral (select x.id from folder x where ${inRoot} and x.place_home = r.home_id offset 0) f
        where ${withoutVerdict})
      union all
      select f.id from below b
       cross join lateral (select x.id from folder x where x.parent_id = b.id offset 0) f
       where ${withoutVerdict})`;
}
