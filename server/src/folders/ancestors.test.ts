import { Client } from "pg";
import { afterAll, beforeAll, expect, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../test/support/test-database.ts";
import { migrate } from "../db/migrate.ts";

/** The migration that stores the ancestors of folders, and the triggers that keep them right. */
const BEFORE = 18;

let database: TestDatabase;
let client: Client;
const ids: Record<string, string> = {};

beforeAll(async () => {
  database = await cloneDatabase("template0");
  await migrate(database.connection, BEFORE);
  client = new Client(database.connection);
  await client.connect();
  ids["account"] = await idOf("insert into account (name) values ('Old')");
  const user = await idOf("insert into app_user (email) values ('ada@example.test')");
  ids["home"] = await idOf(
    `insert into membership (account_id, user_id, name, state) values (${ids["account"]}, ${user}, 'Ada', 'active')`,
  );
  await addFolder("a", null, null);
  await addFolder("b", "a", null);
  await addFolder("c", "b", null);
  await addFolder("own", null, ids["home"]);
  await addFolder("below", "own", null);
  await migrate(database.connection);
});
afterAll(async () => {
  await client.end();
  await database.drop();
});

async function idOf(insert: string, values: readonly unknown[] = []): Promise<string> {
  const { rows } = await client.query<{ id: string }>(`${insert} returning id`, [...values]);
  const [row] = rows;
  if (row === undefined) throw new Error("an insert returned no row");
  return row.id;
}

async function addFolder(name: string, parent: string | null, home: string | null | undefined): Promise<void> {
  const insert = "insert into folder (account_id, type, name, parent_id, home_id) values ($1, 'notes', $2, $3, $4)";
  ids[name] = await idOf(insert, [ids["account"], name, parent === null ? null : ids[parent], home]);
}

/** By name: the names of the ancestors, and whether the folder lies in the home of the member. */
async function storedTree(): Promise<Record<string, [string, boolean]>> {
  const { rows } = await client.query<{ name: string; above: string; is_home: boolean }>(
    `select f.name, root_home = $1 as is_home,
            coalesce((select string_agg(a.name, '/' order by x.n)
                        from unnest(f.ancestors) with ordinality x (id, n) join folder a on a.id = x.id), '') as above
       from folder f`,
    [ids["home"]],
  );
  return Object.fromEntries(rows.map(({ name, above, is_home: isHome }) => [name, [above, isHome]]));
}

const FILLED = { a: ["", false], b: ["a", false], c: ["a/b", false], own: ["", true], below: ["own", true] };

test("folders from before the migration get their ancestors", async () => {
  expect(await storedTree()).toEqual(FILLED);
});

test("the migration does not wait for edits of notebooks, which would wait for its lock on folders", async () => {
  const other = await cloneDatabase("template0");
  const editor = new Client(other.connection);
  try {
    await migrate(other.connection, BEFORE);
    await editor.connect();
    await editor.query("begin");
    await editor.query("lock table note in row exclusive mode");
    await migrate({ ...other.connection, options: "-c lock_timeout=5s" }, BEFORE + 1);
  } finally {
    await editor.end();
    await other.drop();
  }
});

test("folders that a node of an earlier version creates or moves get their ancestors", async () => {
  await addFolder("d", "c", null);
  // Such a node counts the levels below a folder that it moves only if the height allows more than there is room for.
  expect((await client.query("select distinct height from folder")).rows).toEqual([{ height: 32 }]);
  await client.query("update folder set name = 'b2', parent_id = $2, home_id = null where id = $1", [
    ids["b"],
    ids["own"],
  ]);
  expect(await storedTree()).toEqual({
    a: FILLED.a,
    own: FILLED.own,
    below: FILLED.below,
    b2: ["own", true],
    c: ["own/b2", true],
    d: ["own/b2/c", true],
  });
  await client.query("update folder set parent_id = null, home_id = null where id = $1", [ids["b"]]);
  expect(await storedTree()).toMatchObject({ b2: ["", false], c: ["b2", false], d: ["b2/c", false] });
});

test("a folder cannot lie below itself", async () => {
  const cycle = client.query("update folder set parent_id = $2 where id = $1", [ids["b"], ids["d"]]);
  await expect(cycle).rejects.toThrow(/folder_check/);
});

test("folders can be loaded before their parents, with the ancestors that they had", async () => {
  const columns = "id, account_id, type, name, parent_id, home_id, ancestors, root_home";
  const before = await storedTree();
  await client.query("create temporary table kept as select * from folder");
  await client.query("delete from folder");
  await client.query(
    `insert into folder (${columns}) overriding system value select ${columns} from kept order by id desc`,
  );
  expect(await storedTree()).toEqual(before);
});
