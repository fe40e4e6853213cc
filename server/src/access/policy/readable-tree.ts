import type { FolderType } from "./policy.ts";
import { verdictsOf } from "./read-scope.ts";

/**
 * SQL for the folders of the type whose contents the caller may read, as parts of a `with recursive`. The search starts
 * at the readable roots and at the folders whose policy allows reading, and ends at folders whose policy denies it. The
 * work grows with the readable folders and with the policies, not with what is hidden. `first` is as in `scopeValues`.
 *
 * | part | rows |
 * |---|---|
 * | `below` | the ids of the readable folders |
 * | `root_verdict` | the policies of roots with a verdict for the caller |
 * | `allowed_root` | the roots whose policy allows reading |
 * | `folder_home` | the roots that have folders; empty if the table does not allow reading |
 *
 * `union all`, because nothing is found twice: the planner overestimates the rows, and the hash table of `union` would
 * cost more than the search. `folder_home` finds each root by one step in the index instead of reading all folders.
 * `offset 0` and `limit 1` keep the planner from turning the lateral searches into a join over all folders.
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
