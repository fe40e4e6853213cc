import type { FolderType, Place } from "../../access/policy/policy.ts";
import { scopeValues, verdictsOf, type ReadScope } from "../../access/policy/read-scope.ts";
import { readableTree } from "../../access/policy/readable-tree.ts";
import type { Queryable } from "../../db/database.ts";
import { COLUMNS, type FolderRow } from "./places.ts";
import { isPlaceReadable } from "./verdicts.ts";

interface PageBounds {
  limit: number;
  offset: number;
}

const IN_PLACE = "f.type = $3 and f.place_parent = $4::bigint and f.place_home = $5::bigint";

/**
 * The readable folders directly in the place, by name. All of them inherit the same verdict. If it allows reading, the
 * folders whose own policy denies it are left out. Otherwise only folders that the caller owns, or whose own policy
 * allows reading, are read.
 */
export async function listChildren(
  reader: Queryable,
  scope: ReadScope,
  place: Place,
  { limit, offset }: PageBounds,
): Promise<FolderRow[]> {
  const { type, folderId, homeId } = place;
  const values = [limit, offset, type, folderId ?? 0, homeId ?? 0];
  if (!scope.isFiltered) {
    return reader.query(`select ${COLUMNS} from folder f where ${IN_PLACE} order by f.name limit $1 offset $2`, values);
  }
  const shown = (await isPlaceReadable(reader, scope, place))
    ? "(f.owner_id = $7::bigint or f.id not in (select v.source_id from verdict v where v.weight % 2 = 1))"
    : `f.id = any (array(select v.source_id from verdict v where v.weight % 2 = 0
                         union all select o.id from folder o where o.owner_id = $7::bigint))`;
  // `$6::boolean is not null` is always true: it tells PostgreSQL the type of a parameter that is not used otherwise.
  return reader.query(
    `with verdict as materialized (${verdictsOf("'folder'", 6)})
     select ${COLUMNS} from folder f
      where ${IN_PLACE} and $6::boolean is not null and ${shown} order by f.name limit $1 offset $2`,
    [...values, ...scopeValues(scope)],
  );
}

export async function listAll(reader: Queryable, type: FolderType, page: PageBounds): Promise<FolderRow[]> {
  return reader.query(`select ${COLUMNS} from folder f where f.type = $1 order by f.id limit $2 offset $3`, [
    type,
    page.limit,
    page.offset,
  ]);
}

export async function readFolders(reader: Queryable, ids: readonly number[]): Promise<FolderRow[]> {
  if (ids.length === 0) return [];
  return reader.query(`select ${COLUMNS} from folder f where f.id = any ($1) order by f.id`, [[...ids]]);
}

/** The readable folders of the type, by id, found from the top of the tree without reading hidden ones. */
export async function walkReadableTree(
  reader: Queryable,
  scope: ReadScope,
  type: FolderType,
  { limit, offset }: PageBounds,
): Promise<FolderRow[]> {
  return reader.query(
    `with recursive ${readableTree(type, 4)},
     shown as (
       select b.id from below b
       union
       select f.id from folder f where f.type = $3 and f.owner_id = $5::bigint)
     select ${COLUMNS} from folder f
      where f.id = any (array(select s.id from shown s order by s.id limit $1 offset $2)) order by f.id`,
    [limit, offset, type, ...scopeValues(scope)],
  );
}
