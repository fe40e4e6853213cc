import { randomUUID } from "node:crypto";
import { statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { adminHere, urlOf, type AdminCli } from "../../test/support/admin-cli.ts";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { AccountCatalogs } from "../catalog/metastores/account-catalogs.ts";
import type { SealedColumn } from "../db/sealed-column.ts";
import { readKeys, KeyRing, keyPrefix } from "../lib/key-ring.ts";
import { sealedColumns } from "../sealed-columns.ts";

const given = useServer();
let admin: AdminCli;
let account: AccountClient;
let secrets: string[];

beforeAll(async () => {
  admin = adminHere({ DATABASE_URL: urlOf(given.database), HEADGATE_DATA_DIR: given.dataDir });
  await given.operator();
  account = await given.account();
  const credentials = {
    storage_access_key: "AKIAEXAMPLE00001",
    storage_secret_key: "first",
    compute_access_key: "AKIAEXAMPLE00002",
    compute_secret_key: "second",
  };
  await account.put("/api/v2/accounts", { account: credentials });
  const copy = { command_type: "HadoopCommand", sub_command: "s3distcp", encryptionKey: "sealed" };
  await account.post("/commands", copy, { headers: { "Idempotency-Key": randomUUID() } });
  secrets = await metastoreSecrets();
  const engine = { type: "connect", url: "sc://connect.example.com:15002", token: "sealed" };
  await account.post("/api/v2/clusters", { labels: ["remote"], engine });
});

/** Creates them if they do not exist yet. */
async function metastoreSecrets(): Promise<string[]> {
  const { db, keys } = given.app.services;
  const catalog = await new AccountCatalogs(db.system, keys).find(account.accountId);
  return catalog.kind === "own" ? Object.values(catalog.secrets).map((each) => each.reveal()) : [];
}

function keyIds(): number[] {
  return readKeys(keyFile()).map(({ id }) => id);
}

function keyFile(): string {
  return join(given.dataDir, "keys");
}

/** Makes the rotation look older. */
function letTheKeyFileAge(): void {
  const anHourAgo = new Date(Date.now() - 3_600_000);
  utimesSync(keyFile(), anHourAgo, anHourAgo);
}

async function keyIdsIn({ table, column }: SealedColumn): Promise<number[]> {
  const rows = await given.app.services.db.system.query<{ sealed: Buffer }>(
    `select ${column} as sealed from ${table} where ${column} is not null`,
  );
  return [...new Set(rows.map(({ sealed }) => KeyRing.keyIdOf(sealed)))];
}

/** Tables with a value sealed with this key in any column: as bytes, or in hex or base64 within a text. */
async function tablesWithKey(keyId: number): Promise<string[]> {
  const { system } = given.app.services.db;
  const tables = await system.query<{ name: string }>(
    "select relname as name from pg_class where relnamespace = 'public'::regnamespace and relkind = 'r' order by 1",
  );
  const beginnings = textBeginnings(keyId);
  const found: string[] = [];
  for (const { name } of tables) {
    const rows = await system.query<{ text: string }>(`select t::text as text from ${name} t`);
    if (rows.some(({ text }) => beginnings.some((beginning) => text.includes(beginning)))) found.push(name);
  }
  return found;
}

/** In base64, the sixth character has the last two bits of the key's id and the first four of the nonce. */
function textBeginnings(keyId: number): string[] {
  const prefix = keyPrefix(keyId);
  const nonces = Array.from({ length: 16 }, (_, bits) => Buffer.of(bits * 16));
  const base64 = nonces.map((nonce) => Buffer.concat([prefix, nonce]).toString("base64").slice(0, 6));
  return [`x${prefix.toString("hex")}`, ...base64];
}

describe("key-rotate", () => {
  test("has a value to seal in every sealed column, and finds it in its table", async () => {
    for (const column of sealedColumns) expect(await keyIdsIn(column), column.column).toEqual([1]);
    expect(await tablesWithKey(1)).toEqual([...new Set(sealedColumns.map(({ table }) => table))].toSorted());
  });

  test("works under load: no request fails, every secret can be opened, and all are sealed with the new key", async () => {
    let rotating = true;
    let written = "first";
    let requests = 0;
    const write = async (): Promise<void> => {
      for (let i = 0; rotating; i++, requests++) {
        await account.put("/api/v2/accounts", { account: { storage_secret_key: `secret-${i}` } });
        written = `secret-${i}`;
      }
    };
    const read = async (): Promise<void> => {
      for (; rotating; requests++) {
        expect((await account.get("/accounts/get_creds")).storage_secret_key).toMatch(/^(first|secret-\d+)$/);
      }
    };
    const repeat = async (): Promise<void> => {
      for (; rotating; requests += 2) {
        const headers = { "Idempotency-Key": randomUUID() };
        const invite = { invitee_email: `${randomUUID()}@example.test` };
        const first = await account.post("/users/invite_new", invite, { headers });
        expect(await account.post("/users/invite_new", invite, { headers })).toEqual(first);
      }
    };
    const rotate = async (): Promise<void> => {
      try {
        for (const id of [2, 3]) expect(await admin.run("key-rotate")).toContain(`Key ${id} is in use`);
      } finally {
        rotating = false;
      }
    };
    await Promise.all([write(), read(), repeat(), rotate()]);
    expect(requests).toBeGreaterThan(20);
    await admin.run("key-rotate", "--reseal");
    expect(keyIds()).toEqual([1, 2, 3]);
    for (const column of sealedColumns) expect(await keyIdsIn(column), column.column).toEqual([3]);
    expect(await account.get("/accounts/get_creds")).toMatchObject({
      storage_access_key: "AKIAEXAMPLE00001",
      storage_secret_key: written,
    });
    expect(await metastoreSecrets()).toEqual(secrets);
    expect(given.app.services.keys.newestId).toBe(3);
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
  });

  test("--retire waits, refuses while a secret is sealed with an old key, and then keeps only the newest key", async () => {
    const [oldest] = readKeys(keyFile());
    expect(await admin.refused("key-rotate", "--retire")).toMatch(/too new.*Try again in \d+ s/);
    letTheKeyFileAge();

    const { db } = given.app.services;
    const ring = new KeyRing(oldest === undefined ? [] : [oldest], () => []);
    const context = `account.storage_secret_key:${account.accountId}`;
    const stale = ring.seal(Buffer.from("sealed by a slow node"), context);
    await db.system.query("update account set storage_secret_key = $2 where id = $1", [account.accountId, stale]);
    expect(await admin.refused("key-rotate", "--retire")).toMatch(/^1 stored secrets are still sealed/);
    expect(keyIds()).toEqual([1, 2, 3]);

    await admin.run("key-rotate", "--reseal");
    expect(await admin.run("key-rotate", "--retire")).toMatch(/Removed key 1, 2; key 3 stays/);
    expect(keyIds()).toEqual([3]);
    expect([...(await tablesWithKey(1)), ...(await tablesWithKey(2))]).toEqual([]);
    given.app.services.keys.reload();
    expect(await account.get("/accounts/get_creds")).toMatchObject({ storage_secret_key: "sealed by a slow node" });
    expect(await admin.run("key-rotate", "--retire")).toMatch(/no old key/);
  });

  test("a secret that cannot be opened stops the rotation with its name, and no key is removed", async () => {
    const { system } = given.app.services.db;
    const before = keyIds();
    const other = await given.account();
    await system.query("update account set compute_secret_key = $2 where id = $1", [
      other.accountId,
      Buffer.alloc(48), // under the unknown key 0
    ]);
    expect(await admin.refused("key-rotate")).toMatch(/cannot be opened .*no key 0.*No key was removed/);
    expect(keyIds()).toEqual([...before, 4]);
    await system.query("update account set compute_secret_key = null where id = $1", [other.accountId]);
    await admin.run("key-rotate", "--reseal");
  });

  test("--reseal and --retire exclude each other", async () => {
    expect(await admin.refused("key-rotate", "--reseal", "--retire")).toMatch(/use one of them/);
  });

  test("a server that reads no secrets still follows the key file", async () => {
    await admin.run("key-rotate");
    await expect.poll(() => given.app.services.keys.newestId).toBe(keyIds().at(-1));
  });

  test("each step is audited in the first account", async () => {
    const rows = await given.app.services.db.system.query<{ operation: string; object: string }>(
      "select operation, object from audit_event where operation like 'key\\_%' order by id",
    );
    expect(rows).toContainEqual({ operation: "key_rotate", object: "key/2" });
    expect(rows).toContainEqual({ operation: "key_retire", object: "key/1,2" });
  });
});
