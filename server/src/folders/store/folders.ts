import type { FolderType, FolderRef } from "../../access/policy/policy.ts";
import type { Queryable, Tx } from "../../db/database.ts";
import type { Location } from "../location.ts";

export interface FolderRow {
  id: number;
  type: FolderType;
  name: string;
  /** The folders above it, from the top. */
  ancestors: number[];
  /** The membership of the home that it lies in at any depth; 0: it lies in `Common`. */
  rootHome: number;
  ownerId: number | null;
  createdAt: Date;
  updatedAt: Date;
}

export const COLUMNS = `
  f.id, f.type, f.name, f.ancestors, f.root_home as "rootHome", f.owner_id as "ownerId",
  f.created_at as "createdAt", f.updated_at as "updatedAt"`;

/** A location that exists. */
export interface LocatedRow {
  /** The membership whose home the root is; null: `Common`. */
  homeId: number | null;
  email: string | null;
  /** Null: the root itself. */
  folder: FolderRow | null;
}

type FlatLocatedRow = Pick<LocatedRow, "email"> & { rootHomeId: number | null } & {
  [Column in keyof FolderRow]: FolderRow[Column] | null;
};

export async function findRowByLocation(
  reader: Queryable,
  type: FolderType,
  { email: givenEmail, names }: Location,
): Promise<LocatedRow | undefined> {
  const [row] = await reader.query<FlatLocatedRow>(
    `with recursive walk as (
       select m.email, m.membership_id as home_id, null::bigint as folder_id, 0 as at from member_with_email($1) m
       union all
       select null, null, null, 0 where $1::text is null
       union all
       select w.email, w.home_id, f.id, w.at + 1
         from walk w join folder f
           on f.type = $3 and f.place_parent = coalesce(w.folder_id, 0)
          and f.place_home = case when w.folder_id is null then coalesce(w.home_id, 0) else 0 end
          and f.name = ($2::text[])[w.at + 1]
        where w.at < cardinality($2::text[]))
     select w.email, w.home_id as "rootHomeId", ${COLUMNS}
       from walk w left join folder f on f.id = w.folder_id
      where w.at = cardinality($2::text[])`,
    [givenEmail, [...names], type],
  );
  if (row === undefined) return undefined;
  const { rootHomeId: homeId, email, ...folder } = row;
  return { homeId, email, folder: isFolder(folder) ? folder : null };
}

function isFolder(row: { [Column in keyof FolderRow]: FolderRow[Column] | null }): row is FolderRow {
  return row.id !== null;
}

/** The locations of the folders, in the same order. */
export async function readLocations(reader: Queryable, folderRefs: readonly FolderRef[]): Promise<string[]> {
  if (folderRefs.length === 0) return [];
  const rows = await reader.query<{ location: string }>(
    `select concat_ws('/', case when u.email is null then 'Common' else 'Users/' || u.email end, above.path) as location
       from unnest($1::bigint[], $2::bigint[]) with ordinality as p (folder_id, home_id, position)
       left join folder f on f.id = p.folder_id
       left join lateral (
         select string_agg(a.name, '/' order by cardinality(a.ancestors)) as path
           from folder a where a.id = any (f.ancestors || f.id)) above on true
       left join membership m on m.id = coalesce(f.root_home, p.home_id)
       left join app_user u on u.id = m.user_id
      order by p.position`,
    [folderRefs.map(({ folderId }) => folderId), folderRefs.map(({ homeId }) => homeId)],
  );
  return rows.map(({ location }) => location);
}

export async function findFolder(reader: Queryable, id: number): Promise<FolderRow | undefined> {
  const [row] = await reader.query<FolderRow>(`select ${COLUMNS} from folder f where f.id = $1`, [id]);
  return row;
}

/** Prevents the deletion of the folder until the transaction ends. False: it has been deleted. */
export async function lockFolderExists(tx: Tx, id: number): Promise<boolean> {
  const rows = await tx.query("select from folder where id = $1 for key share", [id]);
  return rows.length > 0;
}

/** The same; returns the ids of the folders above it, from the top. Undefined: it has been deleted. */
export async function lockParent(tx: Tx, id: number): Promise<number[] | undefined> {
  const [row] = await tx.query<{ ancestors: number[] }>("select ancestors from folder where id = $1 for key share", [
    id,
  ]);
  return row?.ancestors;
}
