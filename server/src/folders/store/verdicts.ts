import { scopeValues, verdictOn, type ReadScope } from "../../access/policy/read-scope.ts";
import type { Queryable } from "../../db/database.ts";
import type { JudgedFolder, NextFolders } from "../contract.ts";

/** The nearest verdict decides: that of the folder, of a folder above it, of the root. */
export async function judgeFolders(
  reader: Queryable,
  scope: ReadScope,
  { type, after, limit }: NextFolders,
): Promise<JudgedFolder[]> {
  if (!scope.isFiltered) {
    return reader.query(
      `select f.id, true as "isReadable" from folder f where f.type = $1 and f.id > $2 order by f.id limit $3`,
      [type, after, limit],
    );
  }
  return reader.query(
    `with batch as (
       select f.id from folder f where f.type = $1 and f.id > $2 order by f.id limit $3),
     chain as materialized (select * from folder_chain(array(select b.id from batch b))),
     verdict as materialized (
       select c.folder_id, ${verdictOn("'folder'", "c.folder_id", 4)} as weight
         from (select distinct folder_id from chain) c),
     root as materialized (
       select c.home_id, ${verdictOn("$1 || '_root'", "c.home_id", 4)} as weight
         from (select distinct coalesce(home_id, 0) as home_id from chain where parent_id is null) c)
     select b.id, coalesce(coalesce(
         (select v.weight from chain c join verdict v using (folder_id)
           where c.start_id = b.id and v.weight is not null order by c.depth limit 1),
         (select r.weight from chain c join root r on r.home_id = coalesce(c.home_id, 0)
           where c.start_id = b.id and c.parent_id is null)) % 2 = 0,
         $4::boolean) as "isReadable"
       from batch b order by b.id`,
    [type, after, limit, ...scopeValues(scope)],
  );
}
