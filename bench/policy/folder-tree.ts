import type { BenchNode } from "../commands/bench-node.ts";
import { compare } from "./compare.ts";
import { newAccount, type Caller } from "./members.ts";

const FOLDERS = 100_000;
const WIDTH = 100;

/** Compares renaming the top of a large tree with renaming a folder that has none below. */
export async function benchFolderTree(node: BenchNode): Promise<boolean> {
  const { accountId, admin } = await newAccount(node, "tree");
  const top = await idOf(node, "insert into folder (account_id, type, name) values ($1, 'notes', 'top')", [accountId]);
  await node.sql.query(
    `with middle as (
       insert into folder (account_id, type, name, parent_id)
       select $1, 'notes', 'middle ' || n, $2 from generate_series(1, $3::integer / ${WIDTH}) n returning id)
     insert into folder (account_id, type, name, parent_id)
     select $1, 'notes', 'leaf ' || n, middle.id from middle, generate_series(1, ${WIDTH}) n`,
    [accountId, top, FOLDERS],
  );
  const leaf = await idOf(node, "insert into folder (account_id, type, name) values ($1, 'notes', 'leaf')", [
    accountId,
  ]);
  await node.sql.query("vacuum (analyze) folder");
  const rename = (id: number, name: string) => (sample: number) => renameFolder(admin, id, `${name} ${sample}`);
  return compare(
    `renaming the top of ${FOLDERS} folders`,
    { title: "the top", work: rename(top, "top") },
    { title: "a folder without others", work: rename(leaf, "leaf") },
    1.1,
  );
}

async function renameFolder(caller: Caller, id: number, name: string): Promise<void> {
  await caller.call("PUT", "/api/v1.2/folders/rename", { folder_id: String(id), name, type: "notes" });
}

async function idOf({ sql }: BenchNode, insert: string, values: readonly unknown[]): Promise<number> {
  const { rows } = await sql.query<{ id: string }>(`${insert} returning id`, [...values]);
  return Number(rows[0]?.id);
}
