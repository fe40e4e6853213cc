import { randomUUID } from "node:crypto";
import { statSync, utimesSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { adminCli, urlOf, type AdminCli } from "../../test/support/admin-cli.ts";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { AccountCatalogs } from "../catalog/metastores/account-catalogs.ts";
import { KeyRing } from "../lib/key-ring.ts";
import { readKeys } from "../lib/key-file.ts";

const given = useServer();
let admin: AdminCli;
let account: AccountClient;
let secrets: string[];

beforeAll(async () => {
  admin = adminCli({ DATABASE_URL: urlOf(given.database), HEADGATE_DATA_DIR: given.dataDir });
  await given.operator();
  account = await given.account();
  await account.put("/api/v2/accounts", {
    account: { storage_access_key: "AKIAEXAMPLE00001", storage_secret_key: "first" },
  });
  await account.post("/commands", { command_type: "HadoopCommand", sub_command: "s3distcp", encryptionKey: "sealed" });
  secrets = await metastoreSecrets();
  const engine = { type: "connect", url: "sc://connect.example.com:15002", token: "sealed" };
  await account.post("/clusters", { labels: ["remote"], engine });
});

/** Made where they are not there yet. */
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

/** As if the rotation had been a while ago. */
function letTheKeyFileAge(): void {
  const anHourAgo = new Date(Date.now() - 3_600_000);
  utimesSync(keyFile(), anHourAgo, anHourAgo);
}

async function keyIdsInUse(): Promise<number[]> {
  const rows = await given.app.services.db.system.query<{ sealed: Buffer }>(
    `select storage_secret_key as sealed from account where storage_secret_key is not null
     union all select storage_access_key from account where storage_access_key is not null
     union all select reply from idempotency
     union all select secrets from command where secrets is not null
     union all select token from cluster where token is not null
     union all select password from metastore union all select secret from metastore`,
  );
  return [...new Set(rows.map(({ sealed }) => KeyRing.keyIdOf(sealed)))];
}

describe("key-rotate", () => {
  test("goes on under load: no request fails, every secret opens, all is sealed with the new key", async () => {
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
    expect(await keyIdsInUse()).toEqual([3]);
    expect(await account.get("/accounts/get_creds")).toMatchObject({
      storage_access_key: "AKIAEXAMPLE00001",
      storage_secret_key: written,
    });
    expect(await metastoreSecrets()).toEqual(secrets);
    expect(given.app.services.keys.newestId).toBe(3);
    expect(statSync(keyFile()).mode & 0o777).toBe(0o600);
  });

  test("--retire waits, refuses while something is sealed with an old key, and then leaves the newest", async () => {
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
    given.app.services.keys.reload();
    expect(await account.get("/accounts/get_creds")).toMatchObject({ storage_secret_key: "sealed by a slow node" });
    expect(await admin.run("key-rotate", "--retire")).toMatch(/no old key/);
  });

  test("a secret that does not open stops the rotation by name, and no key is lost", async () => {
    const { system } = given.app.services.db;
    const before = keyIds();
    const other = await given.account();
    await system.query("update account set compute_secret_key = $2 where id = $1", [
      other.accountId,
      Buffer.alloc(48), // under a key 0 that never was
    ]);
    expect(await admin.refused("key-rotate")).toMatch(/does not open .*no key 0.*No key was removed/);
    expect(keyIds()).toEqual([...before, 4]);
    await system.query("update account set compute_secret_key = null where id = $1", [other.accountId]);
    await admin.run("key-rotate", "--reseal");
  });

  test("--reseal and --retire exclude each other", async () => {
    expect(await admin.refused("key-rotate", "--reseal", "--retire")).toMatch(/say one of them/);
  });

  test("a server that reads nothing follows the key file all the same", async () => {
    await admin.run("key-rotate");
    await expect.poll(() => given.app.services.keys.newestId).toBe(keyIds().at(-1));
  });

  test("each step is an audit row of the first account", async () => {
    const rows = await given.app.services.db.system.query<{ operation: string; object: string }>(
      "select operation, object from audit_event where operation like 'key\\_%' order by id",
    );
    expect(rows).toContainEqual({ operation: "key_rotate", object: "key/2" });
    expect(rows).toContainEqual({ operation: "key_retire", object: "key/1,2" });
  });
});
