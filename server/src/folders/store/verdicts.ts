import type { FolderType, Place } from "../../access/policy/policy.ts";
import { scopeValues, verdictOn, verdictsOf, type ReadScope } from "../../access/policy/read-scope.ts";
import type { Queryable } from "../../db/database.ts";

/** Whether the caller may read objects in the folder or root that have no policy of their own. */
export async function isPlaceReadable(reader: Queryable, scope: ReadScope, place: Place): Promise<boolean> {
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

interface NextFolders {
  readonly type: FolderType;
  /** The last id that has been judged; 0 at the start. */
  readonly after: number;
  readonly limit: number;
}

interface JudgedFolder {
  readonly id: number;
  readonly ownerId: number | null;
  /** By the nearest verdict, or by the permission table if there is none. Ownership is not considered. */
  readonly isReadable: boolean;
}

/**
 * The next folders by id, and whether the caller may read them. The nearest verdict decides: that of the folder, then
 * those of the folders above it, then that of the root. Weights are below 100, so the smallest `depth * 100 + weight`
 * belongs to the nearest verdict.
 */
export async function judgeFolders(
  reader: Queryable,
  scope: ReadScope,
  { type, after, limit }: NextFolders,
): Promise<JudgedFolder[]> {
  return reader.query(
    `with chain as materialized (
       select * from folder_chain(array(
         select f.id from folder f where f.type = $1 and f.id > $2 order by f.id limit $3))),
     verdict as materialized (${verdictsOf("'folder'", 4)}),
     root as materialized (${verdictsOf("$1::text || '_root'", 4)}),
     nearest as (
       select c.start_id, coalesce(min(c.depth * 100 + v.weight) % 100, max(r.weight)) as weight
         from chain c
         left join verdict v on v.source_id = c.folder_id
         left join root r on c.parent_id is null and r.source_id = coalesce(c.home_id, 0)
        group by c.start_id)
     select n.start_id as id, f.owner_id as "ownerId", coalesce(n.weight % 2 = 0, $4::boolean) as "isReadable"
       from nearest n join folder f on f.id = n.start_id
      order by n.start_id`,
    [type, after, limit, ...scopeValues(scope)],
  );
}
