import type { FolderType, FolderRef } from "../../access/policy/policy.ts";
import type { ReadScope } from "../../access/policy/read-scope.ts";
import { rowAccess } from "../../access/policy/row-access.ts";
import type { Queryable } from "../../db/database.ts";
import { COLUMNS, type FolderRow } from "./folders.ts";

interface PageBounds {
  limit: number;
  offset: number;
}

/** The readable folders directly in the folder or root, by name. */
export async function listChildren(
  reader: Queryable,
  scope: ReadScope,
  { type, folderId, homeId }: FolderRef,
  { limit, offset }: PageBounds,
): Promise<FolderRow[]> {
  const access = rowAccess(scope, { type: "folder", tree: type }, 6);
  return reader.query(
    `${access.with} select ${COLUMNS} from folder f
      where f.type = $3 and f.place_parent = $4::bigint and f.place_home = $5::bigint
        and ${access.mayUse("f", access.inFolder("f"))}
      order by f.name limit $1 offset $2`,
    [limit, offset, type, folderId ?? 0, homeId ?? 0, ...access.values],
  );
}

/** All readable folders of the type, by id. */
export async function listFolders(
  reader: Queryable,
  scope: ReadScope,
  type: FolderType,
  { limit, offset }: PageBounds,
): Promise<FolderRow[]> {
  const access = rowAccess(scope, { type: "folder", tree: type }, 4);
  return reader.query(
    `${access.with} select ${COLUMNS} from folder f
      where f.type = $3 and ${access.mayUse("f", access.inFolder("f"))}
      order by f.id limit $1 offset $2`,
    [limit, offset, type, ...access.values],
  );
}
