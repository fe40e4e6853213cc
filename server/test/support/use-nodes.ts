import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, vi } from "vitest";
import { createAccountWithAdmin } from "../../src/accounts/create-account-with-admin.ts";
import { addDefaultCluster } from "../../src/clusters/default-cluster.ts";
import { openDatabase, type Database } from "../../src/db/database.ts";
import { newKey, writeKeys } from "../../src/lib/key-ring.ts";
import { AccountClient } from "./given.ts";
import { startNode, type NodeProcess } from "./node-process.ts";
import { cloneDatabase, type TestDatabase } from "./test-database.ts";

/** Nodes that share a database, each a process with a data directory of its own, and an account. */
export interface Nodes<Name extends string> {
  readonly db: Database;
  /** Contains the data directory of each node, under its name. */
  readonly folder: string;
  readonly account: { readonly accountId: number; readonly token: string };
  /** The node's current process. */
  process(name: Name): NodeProcess;
  readonly idOf: (name: Name) => string;
  /** The first user of the account, through that node. */
  readonly at: (name: Name) => AccountClient;
  /** Starts a node that was ended, and waits until the others know its new address. */
  start(name: Name): Promise<void>;
  /** From now on only this node takes commands. */
  onlyOn(name: Name): Promise<void>;
}

const PATIENCE = { timeout: 60_000 };
const EMAIL = "founder@example.test";

/** Starts the nodes before the tests and ends them after; later hooks can already use them. */
export function useNodes<Name extends string>(
  names: readonly Name[],
  settingsIn: (folder: string) => Record<string, string> = () => ({}),
): Nodes<Name> {
  const processes = new Map<Name, NodeProcess>();
  let folder: string;
  let database: TestDatabase;
  let db: Database;
  let account: { accountId: number; token: string };

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), "headgate-nodes-"));
    chmodSync(folder, 0o711); // if the tests run as root, programs have the account's uid
    writeKeys(join(folder, "keys"), [newKey([])]);
    database = await cloneDatabase();
    db = openDatabase({ ...database.connection, max: 2 });
    account = await db.asSystem((tx) =>
      createAccountWithAdmin(tx, {
        account: { name: "Nodes", parentId: null, plan: "free" },
        admin: { email: EMAIL, name: "Founder", isOperator: false },
        features: [],
        addDefaults: addDefaultCluster,
      }),
    );
    await Promise.all(names.map((name) => nodes.start(name)));
  });

  afterAll(async () => {
    await Promise.all([...processes.values()].map((node) => node.crash()));
    await db.close();
    await database.drop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20 });
  });

  const nodes: Nodes<Name> = {
    get db() {
      return db;
    },
    get folder() {
      return folder;
    },
    get account() {
      return account;
    },
    process(name) {
      const node = processes.get(name);
      if (node === undefined) throw new Error(`${name} is not started`);
      return node;
    },
    idOf: (name) => readFileSync(join(folder, name, "node-id"), "utf8").trim(),
    at: (name) => new AccountClient(nodes.process(name).url, account.token, account.accountId, EMAIL),
    async start(name) {
      const dataDir = join(folder, name);
      mkdirSync(dataDir, { recursive: true, mode: 0o711 });
      const node = await startNode(dataDir, database.connection, {
        HEADGATE_KEY_FILE: join(folder, "keys"),
        DATABASE_URL: "postgres://shared",
        ...settingsIn(folder),
      });
      processes.set(name, node);
      const known = (): Promise<object[]> =>
        db.system.query("select from node where id = $1 and address = $2", [nodes.idOf(name), node.url]);
      await vi.waitFor(async () => expect(await known()).toHaveLength(1), PATIENCE);
    },
    async onlyOn(name) {
      const state = "case when id = $1 then 'active' else 'paused' end";
      await db.system.query(`update node set state = ${state}`, [nodes.idOf(name)]);
    },
  };
  return nodes;
}
