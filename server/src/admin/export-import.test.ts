import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync, chmodSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Client as PgClient } from "pg";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { adminCli, urlOf, type AdminCli } from "../../test/support/admin-cli.ts";
import { Client } from "../../test/support/client.ts";
import { startHeadgate } from "../../test/support/headgate-process.ts";
import { testConfig, useServer, type AccountClient } from "../../test/support/given.ts";
import { cloneDatabase, type TestDatabase } from "../../test/support/test-database.ts";
import { startApp } from "../app.ts";
import { lockDataDir } from "../db/embedded/data-dir-lock.ts";
import { loadExport } from "../db/export/load-export.ts";
import { migrate, readMigrations } from "../db/migrate.ts";
import { withOperatorLock } from "../db/operator-lock.ts";
import { newKey, writeKeys } from "../lib/key-file.ts";
import { openSealedFile, type Opening } from "../db/export/sealed-file.ts";
import { verifyOpened } from "../db/export/read-export.ts";
import { Secret } from "../lib/secret.ts";

const PASSPHRASE = "correct horse battery staple";
const MULTI_CHUNK_BYTES = 5_000_000;
const NASTY = "tab\t newline\n backslash\\ \\N \\. quote' \u{1F510} \u0001";

const given = useServer();
let folder: string;
let file: string;
let source: AdminCli;
let account: AccountClient;
let deletedId: number;
const databases: TestDatabase[] = [];

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "headgate-export-"));
  chmodSync(folder, 0o755);
  file = join(folder, "backup.age");
  source = adminCli({
    DATABASE_URL: urlOf(given.database),
    HEADGATE_DATA_DIR: given.dataDir,
    HEADGATE_PASSPHRASE: PASSPHRASE,
  });
  await given.operator();
  account = await given.account({ name: NASTY });
  await account.put("/api/v2/accounts", {
    account: { storage_access_key: "AKIAEXAMPLE00001", storage_secret_key: NASTY },
  });
  await account.post("/whitelist_ip", { ip_cidr: "2001:db8::/32" });
  await account.post("/users/invite_new", { invitee_email: "a@example.test" }, { headers: { "Idempotency-Key": "k" } });
  const { system } = given.app.services.db;
  await system.query(
    `insert into audit_event (account_id, operation, object, outcome)
     select $1, 'bulk', repeat(md5(i::text), 280), 'done' from generate_series(1, $2::int / 9000) i`,
    [account.accountId, MULTI_CHUNK_BYTES],
  );
  deletedId = (await given.account()).accountId;
  await system.query("delete from account where id = $1", [deletedId]);
  await source.run("export", file);
});
afterAll(async () => {
  await Promise.all(databases.map((database) => database.drop()));
  rmSync(folder, { recursive: true, force: true });
});

async function emptyDatabase(): Promise<TestDatabase> {
  const database = await cloneDatabase("template0");
  databases.push(database);
  return database;
}

async function asClient<T>({ connection }: TestDatabase, work: (client: PgClient) => Promise<T>): Promise<T> {
  const client = new PgClient(connection);
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** Every row of every table, but for what the two commands note of themselves. */
async function contentOf(database: TestDatabase): Promise<Record<string, string[]>> {
  return asClient(database, async (client) => {
    const { rows: tables } = await client.query<{ name: string }>(
      // Nodes are the machines it runs on: each adds itself and says every second that it is there.
      "select tablename as name from pg_tables where schemaname = 'public' and tablename not in ('schema_migration', 'node') order by 1",
    );
    const content: Record<string, string[]> = {};
    for (const { name } of tables) {
      const filter = name === "audit_event" ? "where operation not like 'installation\\_%'" : "";
      const { rows } = await client.query<{ row: string }>(`select t::text as row from ${name} t ${filter} order by 1`);
      content[name] = rows.map(({ row }) => row);
    }
    return content;
  });
}

test("an export is one private file, made while the server runs, and audited", async () => {
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(existsSync(`${file}.part`)).toBe(false);
  expect(readFileSync(file).includes("AKIA")).toBe(false);
  await account.get("/account");
  const rows = await given.app.services.db.system.query(
    "select 1 from audit_event where operation = 'installation_export'",
  );
  expect(rows).toHaveLength(1);
});

test(
  "moves an installation to the embedded PostgreSQL and on to another one, whole",
  { timeout: 120_000 },
  async () => {
    const dataDir = join(folder, "embedded");
    const embedded = adminCli({ HEADGATE_DATA_DIR: dataDir, HEADGATE_PASSPHRASE: PASSPHRASE });
    await embedded.run("import", file);
    expect(await embedded.json("status")).toMatchObject({ server: "stopped", store: "embedded", key_ids: [1] });
    expect(readFileSync(join(dataDir, "keys"))).toEqual(readFileSync(join(given.dataDir, "keys")));

    const second = join(folder, "second.age");
    const server = await startHeadgate(dataDir);
    try {
      expect(await new Client(server.url, account.token).get("/account")).toMatchObject({ name: NASTY });
      expect(await embedded.json("status")).toMatchObject({ server: "running", pid: server.pid });
      expect(await embedded.refused("import", file)).toMatch(new RegExp(`pid ${server.pid}.*stop it first`));
      await embedded.run("export", second);
    } finally {
      await server.stop();
    }
    const target = await emptyDatabase();
    const lastDir = join(folder, "last");
    await source.with({ DATABASE_URL: urlOf(target), HEADGATE_DATA_DIR: lastDir }).run("import", second);
    expect(await contentOf(target)).toEqual(await contentOf(given.database));

    const app = await startApp({
      config: testConfig(lastDir),
      connection: target.connection,
      log: pino({ level: "silent" }),
    });
    try {
      const moved = new Client(app.url, account.token);
      expect(await moved.get("/accounts/get_creds")).toMatchObject({ storage_secret_key: NASTY });
      expect(await moved.get("/account")).toMatchObject({ name: NASTY });
      const made = await moved.post("/account", { account: { name: "after the move" } });
      expect(made.account_id, "ids are never reused").toBeGreaterThan(deletedId);
    } finally {
      await app.stop();
    }
  },
);

describe("an import is refused, and changes nothing,", () => {
  test("with a wrong passphrase, without one, or of a file that is no export", async () => {
    const noExport = join(folder, "no-export");
    writeFileSync(noExport, "hello");
    const target = await emptyDatabase();
    const dataDir = join(folder, "never");
    const into = adminCli({ DATABASE_URL: urlOf(target), HEADGATE_DATA_DIR: dataDir });
    const shortFile = join(folder, "short");
    writeFileSync(shortFile, "short\n");
    const wrongFile = join(folder, "wrong");
    writeFileSync(wrongFile, "not the passphrase\n");
    const refusals = await Promise.all([
      into.refused("import", file, "--passphrase-file", wrongFile),
      into.refused("import", file),
      into.refused("import", file, "--passphrase-file", shortFile),
      into.refused("import", file, "--passphrase-file", join(folder, "missing")),
      into.refused("import", noExport, "--passphrase-file", wrongFile),
      into.refused("import", join(folder, "missing"), "--passphrase-file", wrongFile),
    ]);
    expect(refusals).toEqual([
      expect.stringMatching(/does not open: the passphrase is wrong/),
      expect.stringMatching(/--passphrase-file, or set HEADGATE_PASSPHRASE/),
      expect.stringMatching(/at least 12 characters/),
      expect.stringMatching(/ENOENT/),
      expect.stringMatching(/is no export of Headgate/),
      expect.stringMatching(/cannot be read.*ENOENT/),
    ]);
    expect(existsSync(dataDir)).toBe(false);
    expect(
      await asClient(
        target,
        async (client) => (await client.query("select from pg_tables where schemaname = 'public'")).rowCount,
      ),
    ).toBe(0);
  });

  test("while a server holds the data directory", async () => {
    const lock = lockDataDir(join(folder, "held"));
    try {
      const refusal = await source.with({ HEADGATE_DATA_DIR: lock.dataDir }).refused("import", file);
      expect(refusal).toMatch(new RegExp(`A Headgate \\(pid ${process.pid}\\) uses .*: stop it first`));
    } finally {
      lock.release();
    }
  });
});

describe("an export", () => {
  let opening: Opening;
  let known: number;
  beforeAll(async () => {
    known = (await readMigrations()).length;
    opening = await openSealedFile(file, new Secret(PASSPHRASE));
  });

  const broken = (bytes: Buffer): Promise<unknown> => {
    const path = join(folder, "broken");
    writeFileSync(path, bytes);
    return verifyOpened({ ...opening, file: path }, known);
  };

  test("into an installation with rows, or with other keys, is refused and leaves both as they were", async () => {
    const verified = await verifyOpened(opening, known);
    const filled = await cloneDatabase();
    databases.push(filled);
    await asClient(filled, (client) => client.query("insert into app_user (email) values ('x@example.test')"));
    const [before, keyFile] = [await contentOf(filled), join(folder, "other-keys")];
    const options = { connection: filled.connection, keyFile, progress: () => undefined };
    await expect(loadExport(verified, options)).rejects.toThrow(
      /not empty \(table app_user has rows\).*Import into a new one/,
    );
    expect(existsSync(keyFile)).toBe(false);
    writeKeys(keyFile, [newKey([])]);
    await expect(loadExport(verified, options)).rejects.toThrow(/holds other keys/);
    expect(await contentOf(filled)).toEqual(before);
  });

  test("into a database that is in use is refused", async () => {
    const target = await emptyDatabase();
    const options = { connection: target.connection, keyFile: join(folder, "unused"), progress: () => undefined };
    const verified = await verifyOpened(opening, known);
    await asClient(target, () =>
      expect(loadExport(verified, options)).rejects.toThrow(/database is in use: stop the server/),
    );
  });

  test("into a target that refuses a row undoes everything, the key file too", async () => {
    const target = await emptyDatabase();
    await migrate(target.connection);
    await asClient(target, (client) =>
      client.query("alter table whitelisted_ip add check (given_text <> '2001:db8::/32')"),
    );
    const keyFile = join(folder, "undone-keys");
    const options = { connection: target.connection, keyFile, progress: () => undefined };
    await expect(loadExport(await verifyOpened(opening, known), options)).rejects.toThrow(/check constraint/);
    expect(Object.values(await contentOf(target)).flat()).toEqual([]);
    expect(existsSync(keyFile)).toBe(false);
  });

  test("notices a file cut anywhere", async () => {
    const whole = readFileSync(file);
    for (const share of [0.1, 0.5, 0.9]) {
      await expect(broken(whole.subarray(0, Math.floor(whole.length * share)))).rejects.toThrow(/damaged or cut short/);
    }
    for (const missing of [1, 16, 65_552]) {
      await expect(broken(whole.subarray(0, -missing))).rejects.toThrow(/damaged or cut short/);
    }
  });

  test("notices a changed byte anywhere", async () => {
    for (const at of [0.01, 0.5, 0.999]) {
      const bytes = readFileSync(file);
      const place = Math.floor(bytes.length * at);
      bytes.writeUInt8(bytes.readUInt8(place) ^ 1, place);
      await expect(broken(bytes)).rejects.toThrow(/damaged or cut short/);
    }
  });

  test("refuses one of a newer version by its numbers", async () => {
    await expect(verifyOpened(opening, 0)).rejects.toThrow(
      /newer version: it was made by Headgate .* at migration \d+, this version knows 0/,
    );
  });
});

test("an export never overwrites a file, and leaves none behind when it is refused", async () => {
  const before = readFileSync(file);
  const [taken, unprotected] = await Promise.all([
    source.refused("export", file),
    adminCli({ DATABASE_URL: urlOf(given.database), HEADGATE_DATA_DIR: given.dataDir }).refused("export", `${file}-2`),
  ]);
  const nowhere = await source.refused("export", join(folder, "missing", "backup.age"));
  const keyless = await source.with({ HEADGATE_KEY_FILE: join(folder, "no-keys") }).refused("export", `${file}-3`);
  expect(nowhere).toMatch(/^ENOENT.*missing/);
  expect(keyless).toMatch(/^ENOENT.*no-keys/m);
  expect(existsSync(`${file}-3`) || existsSync(`${file}-3.part`)).toBe(false);
  expect(taken).toMatch(/is there already/);
  expect(unprotected).toMatch(/HEADGATE_PASSPHRASE/);
  expect(readFileSync(file).equals(before)).toBe(true);
});

test("one export, import or rotation at a time", async () => {
  const refusals = await withOperatorLock(given.database.connection, () =>
    Promise.all([source.refused("key-rotate"), source.refused("export", `${file}-4`)]),
  );
  expect(refusals).toEqual([expect.stringMatching(/^Another export/), expect.stringMatching(/^Another export/)]);
});
