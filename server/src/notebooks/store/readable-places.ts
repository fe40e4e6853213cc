import type { FolderType } from "../../access/policy/policy.ts";
import { verdictsOf } from "../../access/policy/read-scope.ts";
import { readableTree } from "../../access/policy/readable-tree.ts";

/**
 * SQL for the places (folders and roots) in which the caller may read objects that have no policy of their own. A place
 * is a pair `(f, h)`: the folder's id and 0; or, for a root, 0 and the membership of the home, which is 0 for `Common`.
 */
export interface PlacedTable {
  readonly table: "note" | "dashboard";
  readonly type: FolderType;
  /** Whether the objects can have policies of their own. */
  readonly hasPolicies: boolean;
}

/** The place of a row. The indexes of both tables have this order. */
export const placeColumns = (row: string): string => `${row}.place_folder, ${row}.place_home`;

/**
 * The next places after ($1, $2) that contain objects, at most $3, each found by one step in the index. Defines `place`
 * and `readable`.
 */
export function nextPlaces({ table, type }: PlacedTable, scopeAt: number): string {
  const next = (folder: string, home: string): string => `
    select o.place_folder as f, o.place_home as h from ${table} o
     where (${placeColumns("o")}) > (${folder}, ${home}) order by ${placeColumns("o")} limit 1`;
  return `
    place as (
      select first.f, first.h, 1 as position from (${next("$1::bigint", "$2::bigint")}) first
      union all
      select x.f, x.h, p.position + 1 from place p cross join lateral (${next("p.f", "p.h")}) x where p.position < $3),
    ${judgedPlaces(type, scopeAt)}`;
}

/** The place ($1, $2) alone. */
export function onePlace({ type }: PlacedTable, scopeAt: number): string {
  return `
    place as (select $1::bigint as f, $2::bigint as h, 1 as position where $3::bigint > 0),
    ${judgedPlaces(type, scopeAt)}`;
}

/**
 * Defines `readable`: the rows of `place` that the caller may read. The nearest verdict decides: that of the folder,
 * then those of the folders above it, then that of the root. `limit 1` makes the planner look up each parent by its id.
 * The bound of 64 only ends a walk in a damaged tree.
 */
function judgedPlaces(type: FolderType, scopeAt: number): string {
  const folder = (id: string): string =>
    `cross join lateral (select x.id, x.parent_id, x.home_id from folder x where x.id = ${id} limit 1) f`;
  return `
    verdict as materialized (${verdictsOf("'folder'", scopeAt)}),
    root_verdict as materialized (${verdictsOf(`'${type}_root'`, scopeAt)}),
    chain as (
      select p.f as start_id, f.id as folder_id, f.parent_id, f.home_id, 0 as depth
        from place p ${folder("p.f")} where p.f > 0
      union all
      select c.start_id, f.id, f.parent_id, f.home_id, c.depth + 1 from chain c ${folder("c.parent_id")}
       where c.depth < 64),
    judged as (
      select c.start_id as f, (array_agg(v.weight order by c.depth) filter (where v.weight is not null))[1] as weight,
             coalesce(max(c.home_id), 0) as home_id
        from chain c left join verdict v on v.source_id = c.folder_id group by c.start_id
      union all select 0, null, p.h from place p where p.f = 0),
    readable as materialized (
      select j.f, case when j.f = 0 then j.home_id else 0 end as h
        from judged j left join root_verdict r on r.source_id = j.home_id
       where coalesce(coalesce(j.weight, r.weight) % 2 = 0, $${scopeAt}::boolean))`;
}

/**
 * All readable places after ($1, $2), found from the top down. If `place` has $3 rows, there can be more. Defines
 * `place` and `readable`.
 */
export function placesFromTheTop({ table, type }: PlacedTable, scopeAt: number): string {
  return `
    ${readableTree(type, scopeAt)},
    home as (
      select 0::bigint as h where $${scopeAt}::boolean
      union all
      select x.h from home p cross join lateral (
        select o.place_home as h from ${table} o
         where o.place_folder = 0 and o.place_home > p.h
         order by o.place_home limit 1) x),
    place as materialized (
      select id as f, 0::bigint as h from below
      union all select 0, a.home_id from allowed_root a
      union all select 0, h.h from home h where h.h not in (select v.source_id from root_verdict v)
      limit $3),
    readable as materialized (select p.f, p.h from place p where (p.f, p.h) > ($1::bigint, $2::bigint))`;
}
