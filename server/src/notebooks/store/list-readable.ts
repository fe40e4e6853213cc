import type { FolderType } from "../../access/policy/policy.ts";
import type { ReadScope } from "../../access/policy/read-scope.ts";
import { rowAccess } from "../../access/policy/row-access.ts";
import type { Queryable } from "../../db/database.ts";

export interface FolderIds {
  readonly folderId: number | null;
  readonly homeId: number | null;
}

interface ObjectList {
  readonly table: "note" | "dashboard";
  readonly tree: FolderType;
  /** SQL that refers to the row as `o`. */
  readonly columns: string;
}

const ROW_FOLDER = ["o.place_folder", "o.place_home"] as const;

/**
 * A page of the readable notebooks or dashboards in the order of their folders, then of their ids. Folders are
 * authorised before their contents, so what is in hidden folders is not read: the first rows of the roots, of readable
 * folders, of what the caller owns and of what a policy of its own allows are found by an index each, and merged.
 * Without `folderRef`, lists all folders.
 */
export async function listRows<Row extends object>(
  reader: Queryable,
  { table, tree, columns }: ObjectList,
  scope: ReadScope,
  { limit, offset }: { readonly limit: number; readonly offset: number },
  folderRef?: FolderIds,
): Promise<Row[]> {
  const values = [limit, offset, ...(folderRef === undefined ? [] : [folderRef.folderId ?? 0, folderRef.homeId ?? 0])];
  const isInFolder = (folder: string, home: string): string =>
    folderRef === undefined ? "true" : `(${folder}, ${home}) = ($3::bigint, $4::bigint)`;
  const inOrder = `order by ${ROW_FOLDER.join(", ")}, o.id`;
  if (!scope.isFiltered) {
    return reader.query(
      `select ${columns} from ${table} o where ${isInFolder(...ROW_FOLDER)} ${inOrder} limit $1 offset $2`,
      values,
    );
  }
  const access = rowAccess(scope, { type: table, tree }, values.length + 1);
  const first = "limit $1::bigint + $2::bigint";
  const rowsOf = (from: string, [folder, home]: readonly [string, string], condition: string): string =>
    `(select o.id, ${folder} as folder, ${home} as home ${from} where ${condition} and ${isInFolder(folder, home)}
       order by ${folder}, ${home}, o.id ${first})`;
  const ofFolder = `
    from folder f cross join lateral (
      select x.id from ${table} x
       where x.place_folder = f.id and x.place_home = 0 and (${access.own("x.id")}) is not false
       order by x.id ${first}) o`;
  const ofVerdict = `from own_verdict v cross join lateral (select * from ${table} x where x.id = v.id limit 1) o`;
  const inRoots = access.isAllowed(access.own("o.id"), access.inRoot("o.place_home"));
  const parts = [
    rowsOf(`from ${table} o`, ROW_FOLDER, `o.place_folder = 0 and ${inRoots}`),
    rowsOf(ofFolder, ["f.id", "0::bigint"], `f.type = '${tree}' and ${access.isAllowed(access.inFolder("f"))}`),
    rowsOf(`from ${table} o`, ROW_FOLDER, access.isOwned("o")),
    rowsOf(ofVerdict, ROW_FOLDER, "v.allows"),
  ];
  return reader.query(
    `${access.with}
     select ${columns} from (${parts.join(" union ")} order by folder, home, id limit $1 offset $2) page
      cross join lateral (select * from ${table} x where x.id = page.id limit 1) o ${inOrder}`,
    [...values, ...access.values],
  );
}
