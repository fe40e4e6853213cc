import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { startApp, type App } from "../../app.ts";
import { testConfig, useServer, type AccountClient } from "../../../test/support/given.ts";
import { pauseNode } from "../../../test/support/pause-node.ts";
import { storedText } from "../../../test/support/stored-text.ts";
import type { Database } from "../../db/database.ts";
import { reseal } from "../../db/reseal.ts";
import { sealContext } from "../../db/sealed-column.ts";
import { newKey, openKeyRing, readKeys, writeKeys } from "../../lib/key-ring.ts";
import { openSecrets, secretsColumn } from "./command-secrets.ts";
import { maskStoredCopies } from "./mask-stored-copies.ts";

const given = useServer({ isIsolated: false });
pauseNode(given); // otherwise it locks the rows of commands that it claims
const nodes: App[] = [];
const folders: string[] = [];
afterEach(async () => {
  await Promise.all(nodes.splice(0).map((node) => node.stop()));
});
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

/** A row as earlier versions wrote it. */
interface OldCopy {
  args: string;
  encryptionKey?: string[];
  macros?: Record<string, string>[];
  resolved?: Record<string, string>[];
  status?: string;
}

const OLD: [how: string, old: OldCopy, shown: string, runs: string][] = [
  [
    "quoted as a whole",
    { args: "'--src s3://a --encryptionKey hunter2'" },
    "'--src s3://a --encryptionKey ********'",
    "'--src s3://a --encryptionKey hunter2'",
  ],
  [
    "by a macro",
    {
      args: "--encryptionKey ******** --src $a$",
      encryptionKey: ["prehunter2"],
      macros: [{ key: "'hunter2'" }, { a: "'s3://a'" }],
      resolved: [{ key: "hunter2" }, { a: "s3://a" }],
    },
    "--encryptionKey ******** --src $a$",
    "--encryptionKey 'prehunter2' --src s3://a",
  ],
  [
    "in a property beside sealed ones",
    {
      args: "--encryptionKey ******** -Dfs.s3a.secret.key=hunter2 -encryptionKey=********",
      encryptionKey: ["it's", "$a$"],
    },
    "--encryptionKey ******** -Dfs.s3a.secret.key=******** -encryptionKey=********",
    String.raw`--encryptionKey 'it'\''s' -Dfs.s3a.secret.key=hunter2 -encryptionKey='$a$'`,
  ],
  ["in an address", { args: "--src s3n://AK:hunter2@b/x" }, "--src s3n://********@b/x", "--src s3n://AK:hunter2@b/x"],
  [
    "where macros leave a quote open",
    {
      args: "--src $q$a --encryptionKe$y$",
      macros: [{ q: `"'"` }, { y: "'y hunter2'" }],
      resolved: [{ q: "'" }, { y: "y hunter2" }],
    },
    "********",
    "--src 'a --encryptionKey hunter2",
  ],
];

describe("copies that an earlier version stored", () => {
  test.each(OLD)("have their keys sealed and masked: %s", async (_how, old, shown, runs) => {
    const account = await given.account();
    const id = await insertOld(account, { ...old, status: "done" });
    await clean();
    const seen = await account.get(`/commands/${id}?include_query_properties=true`);
    expect(seen.command).toEqual({ sub_command: "s3distcp", sub_command_args: shown });
    expect(JSON.stringify(seen)).not.toContain("hunter2");
    expect(await storedText(given.app.services.db.system)).not.toContain("hunter2");
    const again = await account.post(`/commands/${id}/rerun`);
    expect(await sealedArgs(account, again.id)).toBe(runs);
  });

  test("keep everything that is not secret, byte for byte", async () => {
    const account = await given.account();
    const old = { args: `--src  s3://a/$a$ --groupBy "x(y)"`, macros: [{ a: "1 + 1" }], resolved: [{ a: "2" }] };
    const id = await insertOld(account, old);
    const row = (): Promise<object[]> =>
      given.app.services.db.system.query(
        "select command::text, secrets, macros, resolved_macros from command where id = $1",
        [id],
      );
    const before = await row();
    await clean();
    expect(await row()).toEqual(before);
  });

  test("are masked when servers start, even when two nodes start at the same time", async () => {
    const account = await given.account();
    const ids = await insertMany(account, 250);
    await Promise.all([startNode(), startNode()]);
    await vi.waitFor(async () => expect(await unmasked()).toBe(0), { timeout: 45_000, interval: 50 });
    const sealed = await Promise.all(ids.map((id) => sealedArgs(account, id)));
    expect(sealed).toEqual(ids.map((id) => `--src ${id} --encryptionKey 'hunter2'`));
    const { commands } = await account.get("/commands?per_page=100");
    expect(JSON.stringify(commands)).not.toContain("hunter2");
  });

  test("are masked from the point where a crash interrupted the task, which logs one line", async () => {
    const account = await given.account();
    const ids = await insertMany(account, 5);
    const { db } = given.app.services;
    let batches = 0;
    const crashing: Pick<Database, "asSystem"> = {
      asSystem: (work) =>
        db.asSystem(async (tx) => {
          const done = await work(tx);
          batches += 1;
          if (batches === 2) throw new Error("crash");
          return done;
        }),
    };
    await expect(clean({ db: crashing })).rejects.toThrow("crash");
    expect(await unmasked()).toBe(3);
    expect(await clean()).toEqual([{ commands: 3, msg: expect.stringContaining("masked the keys of copies") }]);
    expect(await clean()).toEqual([]);
    for (const id of ids) expect(await sealedArgs(account, id)).toBe(`--src ${id} --encryptionKey 'hunter2'`);
  });

  test("that another transaction has locked are left for the next run", async () => {
    const account = await given.account();
    const [first = 0, second = 0] = await insertMany(account, 2);
    await given.app.services.db.asSystem(async (tx) => {
      await tx.query("select from command where id = $1 for update", [first]);
      await clean();
      expect(await unmasked()).toBe(1);
    });
    await clean();
    expect(await unmasked()).toBe(0);
    expect(await sealedArgs(account, second)).toContain("hunter2");
  });

  test("that cannot be decrypted do not prevent the others from being masked", async () => {
    const account = await given.account();
    const [broken, good] = [
      await insertOld(account, { args: "--src s3n://AK:hunter2@b" }),
      (await insertMany(account, 1))[0],
    ];
    const { system } = given.app.services.db;
    await system.query("update command set secrets = '\\x00000001' where id = $1", [broken]);
    expect(await clean()).toMatchObject([
      { command: broken, msg: expect.stringContaining("could not be masked") },
      { commands: 1 },
    ]);
    expect(await sealedArgs(account, good ?? 0)).toContain("hunter2");
    await system.query("delete from command where id = $1", [broken]);
  });

  test("that are masked already, and were rerun by a node of the earlier version, stay as they are", async () => {
    const account = await given.account();
    const body = { command_type: "HadoopCommand", sub_command: "s3distcp", encryptionKey: "hunter2" };
    const { id } = await account.post("/commands", body);
    await given.app.services.db.system.query("update command set is_masked = false where id = $1", [id]);
    await clean();
    expect(await unmasked()).toBe(0);
    expect(await sealedArgs(account, id)).toBe("'--encryptionKey' 'hunter2'");
  });

  test("are not overwritten by a key rotation that read them before they were masked", async () => {
    const account = await given.account();
    const [id = 0] = await insertMany(account, 1);
    const { db, config } = given.app.services;
    const older: Pick<typeof db.system, "query"> = {
      query: async (text, values) => {
        if (text.includes("update command")) await clean();
        return db.system.query(text, values);
      },
    };
    const known = readKeys(config.keyFile);
    writeKeys(config.keyFile, [...known, newKey(known)]);
    await reseal({ system: older, keys: openKeyRing(config.keyFile), columns: [secretsColumn] });
    expect(await sealedArgs(account, id)).toBe(`--src ${id} --encryptionKey 'hunter2'`);
  });
});

async function clean({ db = given.app.services.db }: { db?: Pick<Database, "asSystem"> } = {}): Promise<object[]> {
  const lines: object[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(JSON.parse(line) as object) });
  const { keys } = given.app.services;
  await maskStoredCopies({ db, keys, log, batch: 2 }, new AbortController().signal);
  for (const line of lines) Reflect.deleteProperty(line, "level");
  return lines;
}

async function unmasked(): Promise<number> {
  const rows = await given.app.services.db.system.query(
    "select from command where command_type = 'HadoopCommand' and not is_masked",
  );
  return rows.length;
}

async function insertOld(account: AccountClient, old: OldCopy): Promise<number> {
  const [id] = await insertCopies(account, old, 1);
  if (id === undefined) throw new Error("nothing inserted");
  return id;
}

async function insertCopies(account: AccountClient, old: OldCopy, count: number): Promise<number[]> {
  const { db, keys } = given.app.services;
  const { args, encryptionKey, macros, resolved, status = "done" } = old;
  const context = sealContext(secretsColumn, account.accountId);
  const sealed = encryptionKey && keys.seal(Buffer.from(JSON.stringify({ encryptionKey })), context);
  const rows = await db.asAccount(account.accountId, (tx) =>
    tx.query<{ id: number }>(
      `insert into command (user_id, label, cluster_id, command_type, command, secrets, macros, resolved_macros, status,
                            end_time, request_id)
       select m.user_id, 'default', l.cluster_id, 'HadoopCommand', $1, $2, $3, $4, $5, now(), 'old'
         from membership m, cluster_label l, generate_series(1, $6) returning id`,
      [
        JSON.stringify({ sub_command: "s3distcp", sub_command_args: args }),
        sealed ?? null,
        macros === undefined ? null : JSON.stringify(macros),
        resolved === undefined ? null : JSON.stringify(resolved),
        status,
        count,
      ],
    ),
  );
  return rows.map(({ id }) => id);
}

async function insertMany(account: AccountClient, count: number): Promise<number[]> {
  const ids = await insertCopies(account, { args: "--encryptionKey ********", encryptionKey: ["hunter2"] }, count);
  await given.app.services.db.system.query(
    `update command set command = json_build_object('sub_command', 's3distcp',
       'sub_command_args', '--src ' || id || ' --encryptionKey ********') where id = any ($1)`,
    [ids],
  );
  return ids;
}

async function sealedArgs(account: AccountClient, id: number): Promise<string | undefined> {
  const { db, keys } = given.app.services;
  const [row] = await db.system.query<{ secrets: Buffer | null }>("select secrets from command where id = $1", [id]);
  return openSecrets(keys, account.accountId, row?.secrets ?? Buffer.alloc(0)).sub_command_args;
}

async function startNode(): Promise<void> {
  const dataDir = mkdtempSync(join(tmpdir(), "headgate-node-"));
  folders.push(dataDir);
  const config = testConfig(dataDir, { HEADGATE_KEY_FILE: join(given.dataDir, "keys") });
  const log = pino({ level: "silent" });
  nodes.push(await startApp({ config, connection: given.database.connection, log, isIsolated: false }));
}
