import type { Place } from "../../access/policy/policy.ts";
import { scopeValues, verdictOn, type ReadScope } from "../../access/policy/read-scope.ts";
import type { Queryable } from "../../db/database.ts";
import type { JudgedFolder, NextFolders } from "../contract.ts";

/** Whether the caller may read what is in the folder or root and has no policy of its own. */
export async function nearestVerdict(reader: Queryable, scope: ReadScope, place: Place): Promise<boolean> {
  const [row] = await reader.query<{ isReadable: boolean }>(
    `with chain as materialized (select * from folder_chain(array[$2::bigint]))
     select coalesce(coalesce(
         (select v.weight
            from (select c.depth, ${verdictOn("'folder'", "c.folder_id", 4)} as weight from chain c) v
           where v.weight is not null order by v.depth limit 1),
         (select ${verdictOn("$1::text || '_root'", "coalesce(r.home_id, 0)", 4)}
            from (select case when $2::bigint is null then $3::bigint
                              else (select c.home_id from chain c where c.parent_id is null) end as home_id) r)) % 2 = 0,
       $4::boolean) as "isReadable"`,
    [place.type, place.folderId, place.homeId, ...scopeValues(scope)],
  );
  return row?.isReadable ?? false;
}

/** The nearest verdict decides: that of the folder, of a folder above it, of the root. */
export async function judgeFolders(
  reader: Queryable,
  scope: ReadScope,
  { type, after, limit }: NextFolders,
): Promise<JudgedFolder[]> {
  if (!scope.isFiltered) {
    return reader.query(
      `select f.id, f.owner_id as "ownerId", true as "isReadable" from folder f
        where f.type = $1 and f.id > $2 order by f.id limit $3`,
      [type, after, limit],
    );
  }
  return reader.query(
    `with batch as materialized (
       select f.id, f.owner_id from folder f where f.type = $1 and f.id > $2 order by f.id limit $3),
     chain as materialized (select * from folder_chain(array(select b.id from batch b))),
     verdict as materialized (
       select c.folder_id, ${verdictOn("'folder'", "c.folder_id", 4)} as weight
         from (select distinct folder_id from chain) c),
     root as materialized (
       select c.home_id, ${verdictOn("$1::text || '_root'", "c.home_id", 4)} as weight
         from (select distinct coalesce(home_id, 0) as home_id from chain where parent_id is null) c),
     nearest as (
       select distinct on (c.start_id) c.start_id, v.weight
         from chain c join verdict v using (folder_id)
        where v.weight is not null order by c.start_id, c.depth)
     select b.id, b.owner_id as "ownerId", coalesce(coalesce(n.weight, r.weight) % 2 = 0, $4::boolean) as "isReadable"
       from batch b
       join chain top on top.start_id = b.id and top.parent_id is null
       join root r on r.home_id = coalesce(top.home_id, 0)
       left join nearest n on n.start_id = b.id
      order by b.id`,
    [type, after, limit, ...scopeValues(scope)],
  );
}
