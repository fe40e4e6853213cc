import type { FolderType } from "../../access/policy/policy.ts";
import { verdictOn } from "../../access/policy/read-scope.ts";
import { matchingActions } from "../../access/policy/rules.ts";

/**
 * SQL for the places (folders and roots) whose objects the caller may read, where the objects have no policy of their
 * own. A place is a pair: the folder's id or 0, and for a root the membership of the home or 0 for `Common`.
 */
export interface PlacedTable {
  readonly table: "note" | "dashboard";
  readonly type: FolderType;
  /** Whether the objects can have policies of their own. */
  readonly hasPolicies: boolean;
}

/** The place of a row. Indexes of both tables are in this order. */
export const placeColumns = (row: string): string => `coalesce(${row}.folder_id, 0), coalesce(${row}.home_id, 0)`;

/**
 * The next places after ($1, $2) that contain objects, at most $3, each found by one step in the index. Defines `place`
 * and `readable`.
 */
export function nextPlaces({ table, type }: PlacedTable, scopeAt: number): string {
  const next = (folder: string, home: string): string => `
    select coalesce(o.folder_id, 0) as f, coalesce(o.home_id, 0) as h from ${table} o
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

/** The nearest verdict decides: that of the folder, of a folder above it, of the root. */
function judgedPlaces(type: FolderType, scopeAt: number): string {
  return `
    chain as materialized (select * from folder_chain(array(select p.f from place p where p.f > 0))),
    nearest as (
      select distinct on (c.start_id) c.start_id, v.weight
        from chain c join (
          select d.folder_id, ${verdictOn("'folder'", "d.folder_id", scopeAt)} as weight
            from (select distinct folder_id from chain) d) v using (folder_id)
       where v.weight is not null order by c.start_id, c.depth),
    top as (
      select c.start_id as f, coalesce(c.home_id, 0) as home_id from chain c where c.parent_id is null
      union all select 0, p.h from place p where p.f = 0),
    root as (
      select d.home_id, ${verdictOn(`'${type}_root'`, "d.home_id", scopeAt)} as weight
        from (select distinct home_id from top) d),
    readable as materialized (
      select p.f, p.h from place p
        join top t on t.f = p.f and (p.f > 0 or t.home_id = p.h)
        join root r on r.home_id = t.home_id
        left join nearest n on n.start_id = p.f
       where coalesce(coalesce(n.weight, r.weight) % 2 = 0, $${scopeAt}::boolean))`;
}

/**
 * All readable places after ($1, $2), found from the top down: the work grows with them and with the policies, not with
 * the hidden places. There are more if `place` has $3 rows. Defines `place` and `readable`.
 */
export function placesFromTheTop({ table, type }: PlacedTable, scopeAt: number): string {
  const byTable = `$${scopeAt}::boolean`;
  const denied = (folder: string): string =>
    `exists (select from verdict v where v.source_type = 'folder' and v.source_id = ${folder} and v.weight % 2 = 1)`;
  return `
    verdict as materialized (
      select r.source_type, r.source_id, max(r.weight) as weight
        from (${callersRules(["folder", `${type}_root`], scopeAt)}) r group by r.source_type, r.source_id),
    allowed_root as materialized (
      select v.source_id as home_id from verdict v where v.source_type <> 'folder' and v.weight % 2 = 0),
    denied_root as materialized (
      select v.source_id as home_id from verdict v where v.source_type <> 'folder' and v.weight % 2 = 1),
    below as (
      select f.id from verdict v join folder f on f.id = v.source_id
       where v.source_type = 'folder' and v.weight % 2 = 0 and f.type = '${type}'
      union
      select f.id from folder f
       where f.type = '${type}' and coalesce(f.parent_id, 0) = 0 and f.parent_id is null and not ${denied("f.id")}
         and (coalesce(f.home_id, 0) in (select a.home_id from allowed_root a)
              or (${byTable} and coalesce(f.home_id, 0) not in (select d.home_id from denied_root d)))
      union
      select c.id from below b join folder c on c.parent_id = b.id where not ${denied("c.id")}),
    home as (
      select 0::bigint as h where ${byTable}
      union all
      select x.h from home p cross join lateral (
        select coalesce(o.home_id, 0) as h from ${table} o
         where coalesce(o.folder_id, 0) = 0 and coalesce(o.home_id, 0) > p.h
         order by coalesce(o.home_id, 0) limit 1) x),
    place as materialized (
      select id as f, 0::bigint as h from below
      union all select 0, a.home_id from allowed_root a
      union all select 0, h.h from home h where h.h not in (select home_id from allowed_root)
                                          and h.h not in (select home_id from denied_root)
      limit $3),
    readable as materialized (select p.f, p.h from place p where (p.f, p.h) > ($1::bigint, $2::bigint))`;
}

/** The rules about reading that name the caller, each kind of subject by its own step in the index. */
export function callersRules(sources: readonly string[], scopeAt: number): string {
  const actions = matchingActions("read").map((action) => `'${action}'`);
  const rules = (subject: string): string => `
    select rule.source_type, rule.source_id, rule.weight from policy_rule rule
     where rule.source_type in (${sources.map((source) => `'${source}'`).join(", ")})
       and rule.action in (${actions.join(", ")}) and ${subject}`;
  return [
    rules("rule.kind = 0 and rule.subject_id = 0"),
    rules(`rule.kind = 1 and rule.subject_id = any ($${scopeAt + 2}::bigint[])`),
    rules(`rule.kind = 2 and rule.subject_id = $${scopeAt + 1}::bigint`),
  ].join(" union all ");
}
