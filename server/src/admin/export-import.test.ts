import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pino } from "pino";
import { beforeAll, describe, expect, test } from "vitest";
import { adminHere, urlOf } from "../../test/support/admin-cli.ts";
import { Client } from "../../test/support/client.ts";
import {
  asClient,
  catalogsOf,
  contentOf,
  NASTY,
  PASSPHRASE,
  useExportedInstallation,
  withCheapScrypt,
} from "../../test/support/exported-installation.ts";
import { testConfig } from "../../test/support/given.ts";
import { cloneDatabase } from "../../test/support/test-database.ts";
import { startApp } from "../app.ts";
import { importedCatalogs } from "../catalog/metastores/export-catalogs.ts";
import { lockDataDir } from "../db/embedded/data-dir-lock.ts";
import { loadExport } from "../db/export/load-export.ts";
import { unlockSealedFile, type UnlockedFile } from "../db/export/sealed-file.ts";
import { verifyUnlocked } from "../db/export/verify-export.ts";
import { migrate, readMigrations } from "../db/migrate.ts";
import { withOperatorLock } from "../db/operator-lock.ts";
import { newKey, writeKeys } from "../lib/key-ring.ts";
import { Secret } from "../lib/secret.ts";

/** For loads that are refused before they use it. */
const NOTHING_ELSE = {
  attach: () => Promise.reject(new Error("nothing is attached")),
  progress: () => undefined,
};

const exported = useExportedInstallation();
const { given } = exported;
let folder: string;
let file: string;
let unlocked: UnlockedFile;
let known: number;

beforeAll(async () => {
  ({ folder, file } = exported);
  known = (await readMigrations()).length;
  unlocked = await unlockSealedFile(file, new Secret(PASSPHRASE));
});

test("an export is one private file, written while the server runs, and audited", async () => {
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(existsSync(`${file}.part`)).toBe(false);
  expect(readFileSync(file).includes("AKIA")).toBe(false);
  await exported.account.get("/account");
  const rows = await given.app.services.db.system.query(
    "select 1 from audit_event where operation = 'installation_export'",
  );
  expect(rows).toHaveLength(1);
});

/** `export-import.full.test.ts` moves one to the embedded PostgreSQL and on. */
test("moves a whole installation to another PostgreSQL", async () => {
  const { account, deletedId, cli } = exported;
  const target = await exported.emptyDatabase();
  const dataDir = join(folder, "moved");
  await cli.with({ DATABASE_URL: urlOf(target), HEADGATE_DATA_DIR: dataDir }).run("import", file);
  expect(readFileSync(join(dataDir, "keys"))).toEqual(readFileSync(join(given.dataDir, "keys")));
  expect(await contentOf(target)).toEqual(await contentOf(given.database));
  await exported.inCatalog(target, async (client) => {
    const { rows } = await client.query(`select * from "DBS" join "ADDED" using ("DB_ID") order by "ID"`);
    expect(rows).toEqual(["1", "2"].map((ID) => ({ DB_ID: "1", NAME: NASTY, ID })));
    await client.query(`insert into "ADDED" ("DB_ID") values (1)`);
    await expect(client.query(`insert into "DBS" values (2, $1)`, [NASTY])).rejects.toThrow(/unique constraint/);
    await expect(client.query(`insert into "ADDED" ("DB_ID") values (7)`)).rejects.toThrow(/foreign key/);
  });

  const app = await startApp({
    config: testConfig(dataDir),
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

  // Again, with the tables of an earlier installation still there.
  await asClient(target, (client) => client.query("drop schema public cascade; create schema public"));
  const again = {
    connection: target.connection,
    keyFile: join(folder, "again-keys"),
    attach: importedCatalogs(catalogsOf(target), given.app.services.keys),
    progress: () => undefined,
  };
  await expect(loadExport(await verifyUnlocked(unlocked, known), again)).rejects.toThrow(
    `The database ${target.connection.database}_metastore_${account.accountId} already exists and is not empty`,
  );
  await exported.inCatalog(target, async (client) => {
    expect((await client.query(`select from "DBS"`)).rowCount).toBe(1);
  });
});

test("a failed import leaves no attached databases", async () => {
  const target = await exported.emptyDatabase();
  const verified = await verifyUnlocked(unlocked, known);
  const { keys } = given.app.services;
  const attach = importedCatalogs(catalogsOf(target), keys);
  const fail = async (...args: Parameters<typeof attach>): ReturnType<typeof attach> => {
    const made = await attach(...args);
    return { ...made, connect: () => Promise.reject(new Error("broken off")) };
  };
  const keyFile = join(folder, "broken-off-keys");
  const options = { connection: target.connection, keyFile, attach: fail, progress: () => undefined };
  await expect(loadExport(verified, options)).rejects.toThrow("broken off");
  expect(await catalogsOf(target).list()).toEqual([]);
});

describe("an import is refused, and changes nothing,", () => {
  test("with a wrong passphrase, without one, or with a file that is not an export", async () => {
    const noExport = join(folder, "no-export");
    writeFileSync(noExport, "hello");
    const target = await exported.emptyDatabase();
    const dataDir = join(folder, "never");
    const into = adminHere({ DATABASE_URL: urlOf(target), HEADGATE_DATA_DIR: dataDir });
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
      expect.stringMatching(/cannot be decrypted: the passphrase is wrong/),
      expect.stringMatching(/--passphrase-file, or set HEADGATE_PASSPHRASE/),
      expect.stringMatching(/at least 12 characters/),
      expect.stringMatching(/ENOENT/),
      expect.stringMatching(/is not an export of Headgate/),
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
      const refusal = await exported.source.with({ HEADGATE_DATA_DIR: lock.dataDir }).refused("import", file);
      expect(refusal).toMatch(new RegExp(`A Headgate \\(pid ${process.pid}\\) uses .*: stop it first`));
    } finally {
      lock.release();
    }
  });
});

describe("an export", () => {
  const broken = (bytes: Buffer): Promise<unknown> => {
    const path = join(folder, "broken");
    writeFileSync(path, bytes);
    return verifyUnlocked({ ...unlocked, file: path }, known);
  };

  test("into an installation with rows, or with other keys, is refused and changes nothing", async () => {
    const verified = await verifyUnlocked(unlocked, known);
    const filled = await cloneDatabase();
    exported.dropLater(filled);
    await asClient(filled, (client) => client.query("insert into app_user (email) values ('x@example.test')"));
    const [before, keyFile] = [await contentOf(filled), join(folder, "other-keys")];
    const options = { connection: filled.connection, keyFile, ...NOTHING_ELSE };
    await expect(loadExport(verified, options)).rejects.toThrow(
      /not empty \(table app_user has rows\).*Import into a new one/,
    );
    expect(existsSync(keyFile)).toBe(false);
    writeKeys(keyFile, [newKey([])]);
    await expect(loadExport(verified, options)).rejects.toThrow(/has other keys/);
    expect(await contentOf(filled)).toEqual(before);
  });

  test("into a database that is in use is refused", async () => {
    const target = await exported.emptyDatabase();
    const options = { connection: target.connection, keyFile: join(folder, "unused"), ...NOTHING_ELSE };
    const verified = await verifyUnlocked(unlocked, known);
    await asClient(target, () =>
      expect(loadExport(verified, options)).rejects.toThrow(/database is in use: stop the server/),
    );
  });

  test("into a target that refuses a row is rolled back completely, including the key file", async () => {
    const target = await exported.emptyDatabase();
    await migrate(target.connection);
    await asClient(target, (client) =>
      client.query("alter table whitelisted_ip add check (given_text <> '2001:db8::/32')"),
    );
    const keyFile = join(folder, "undone-keys");
    const options = { connection: target.connection, keyFile, ...NOTHING_ELSE };
    await expect(loadExport(await verifyUnlocked(unlocked, known), options)).rejects.toThrow(/check constraint/);
    expect(Object.values(await contentOf(target)).flat()).toEqual([]);
    expect(existsSync(keyFile)).toBe(false);
  });

  test("detects a truncated file, wherever it is cut", async () => {
    const whole = readFileSync(file);
    for (const share of [0.1, 0.5, 0.9]) {
      await expect(broken(whole.subarray(0, Math.floor(whole.length * share)))).rejects.toThrow(/damaged or truncated/);
    }
    for (const missing of [1, 16, 65_552]) {
      await expect(broken(whole.subarray(0, -missing))).rejects.toThrow(/damaged or truncated/);
    }
  });

  test("detects any changed byte", async () => {
    for (const at of [0.01, 0.5, 0.999]) {
      const bytes = readFileSync(file);
      const position = Math.floor(bytes.length * at);
      bytes.writeUInt8(bytes.readUInt8(position) ^ 1, position);
      await expect(broken(bytes)).rejects.toThrow(/damaged or truncated/);
    }
  });

  test("of a newer version is refused by its version numbers", async () => {
    await expect(verifyUnlocked(unlocked, 0)).rejects.toThrow(
      /newer version: it was made by Headgate .* at migration \d+, but this version knows 0/,
    );
  });
});

test("an export never overwrites a file, and leaves none if it is refused", async () => {
  const { source } = exported;
  const before = readFileSync(file);
  const [taken, unprotected] = await Promise.all([
    source.refused("export", file),
    adminHere({ DATABASE_URL: urlOf(given.database), HEADGATE_DATA_DIR: given.dataDir }).refused("export", `${file}-2`),
  ]);
  const nowhere = await source.refused("export", join(folder, "missing", "backup.age"));
  const keyless = await withCheapScrypt(() =>
    source.with({ HEADGATE_KEY_FILE: join(folder, "no-keys") }).refused("export", `${file}-3`),
  );
  expect(nowhere).toMatch(/^ENOENT.*missing/);
  expect(keyless).toMatch(/^ENOENT.*no-keys/m);
  expect(existsSync(`${file}-3`) || existsSync(`${file}-3.part`)).toBe(false);
  expect(taken).toMatch(/already exists/);
  expect(unprotected).toMatch(/HEADGATE_PASSPHRASE/);
  expect(readFileSync(file).equals(before)).toBe(true);
});

test("only one export, import or rotation runs at a time", async () => {
  const { source } = exported;
  const refusals = await withOperatorLock(given.database.connection, () =>
    Promise.all([source.refused("key-rotate"), source.refused("export", `${file}-4`)]),
  );
  expect(refusals).toEqual([expect.stringMatching(/^Another export/), expect.stringMatching(/^Another export/)]);
});
