import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Client } from "pg";
import { newKey, writeKeys } from "../../server/src/lib/key-ring.ts";
import { startNode } from "../../server/test/support/node-process.ts";
import {
  foundScratchAccount,
  type ScratchAccount,
  type ScratchStore,
  type StoreConnection,
} from "../../server/test/support/scratch-store.ts";

/** A node with its own database, whose programs are run by a stub instead of Spark's driver. */
export interface BenchNode {
  readonly url: string;
  readonly account: ScratchAccount;
  readonly connection: StoreConnection;
  /** Connected as the owner of the database. */
  readonly sql: Client;
  readonly dataDir: string;
  get(path: string): Promise<unknown>;
  /** Returns the command's id. */
  submit(command: object): Promise<number>;
  cancel(commandId: number): Promise<void>;
  stop(): Promise<void>;
}

export async function startBenchNode(
  store: ScratchStore,
  name: string,
  settings: Record<string, string> = {},
): Promise<BenchNode> {
  const connection = await store.newDatabase();
  const account = await foundScratchAccount(connection, "bench");
  // Inside the store's folder, so that it is removed with the store.
  const dataDir = join(store.dataDir, name);
  mkdirSync(dataDir, { mode: 0o711 });
  writeKeys(join(dataDir, "keys"), [newKey([])]);
  const node = await startNode(dataDir, connection, settings);
  const sql = new Client(connection);
  await sql.connect();
  const call = async (method: string, path: string, body?: unknown): Promise<unknown> => {
    const response = await fetch(`${node.url}/api/v1.2${path}`, {
      method,
      headers: { "X-AUTH-TOKEN": account.token, "Content-Type": "application/json" },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${text}`);
    return JSON.parse(text);
  };
  return {
    url: node.url,
    account,
    connection,
    sql,
    dataDir,
    get: (path) => call("GET", path),
    async submit(command) {
      const { id } = (await call("POST", "/commands", command)) as { id: number }; // the command object of §2.2
      return id;
    },
    async cancel(commandId) {
      await call("PUT", `/commands/${commandId}`);
      await call("GET", `/commands/${commandId}?wait_seconds=60`);
    },
    async stop() {
      await sql.end();
      await node.stop();
    },
  };
}
