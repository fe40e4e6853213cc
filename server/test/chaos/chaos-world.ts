import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDatabase, type Database } from "../../src/db/database.ts";
import { newKey, writeKeys } from "../../src/lib/key-file.ts";
import {
  foundScratchAccount,
  makeScratchStore,
  type ScratchAccount,
  type ScratchStore,
} from "../support/scratch-store.ts";
import { ChaosNode } from "./chaos-node.ts";
import { startCutOffProxy, type CutOffProxy } from "./cut-off-proxy.ts";

/** Two nodes on one database, the second by a way that can be cut, and a journal that all their drivers write to. */
export interface ChaosWorld {
  readonly nodes: readonly ChaosNode[];
  readonly proxy: CutOffProxy;
  readonly store: ScratchStore;
  readonly db: Database;
  readonly account: ScratchAccount;
  readonly dataDirs: readonly string[];
  readonly journal: string;
  /** After so long the others settle what a silent node ran. */
  readonly silentSeconds: number;
  /** Commands whose processes were killed from outside. */
  readonly hit: Set<number>;
  close(): Promise<void>;
}

const LEASE_SECONDS = 5;
/** As the dispatcher counts: the lease, and a margin of the same length. */
const SILENT_SECONDS = 2 * LEASE_SECONDS;

export async function openWorld(): Promise<ChaosWorld> {
  const store = await makeScratchStore();
  const base = mkdtempSync(join(tmpdir(), "headgate-chaos-"));
  chmodSync(base, 0o711);
  const journal = join(base, "journal");
  writeFileSync(journal, "");
  chmodSync(journal, 0o666); // for the account's user
  writeKeys(join(base, "keys"), [newKey([])]);
  const connection = await store.newDatabase();
  const account = await foundScratchAccount(connection, "chaos");
  const proxy = await startCutOffProxy({ host: "127.0.0.1", port: connection.port });
  const settings = {
    DATABASE_URL: "postgres://shared",
    HEADGATE_KEY_FILE: join(base, "keys"),
    HEADGATE_LEASE_SECONDS: String(LEASE_SECONDS),
    HEADGATE_COMMANDS_PER_CLUSTER: "6",
  };
  const ways = [connection, { ...connection, host: "127.0.0.1", port: proxy.port }];
  const dataDirs = ways.map((_, index) => join(base, `node-${index + 1}`));
  const nodes = ways.map((way, index) => {
    const dataDir = dataDirs[index] ?? "";
    mkdirSync(dataDir, { mode: 0o711 });
    return new ChaosNode({ dataDir, connection: way, settings, accountId: account.accountId, journal });
  });
  const db = openDatabase({ ...connection, max: 2 });
  return {
    nodes,
    proxy,
    store,
    db,
    account,
    dataDirs,
    journal,
    silentSeconds: SILENT_SECONDS,
    hit: new Set(),
    async close() {
      for (const node of nodes) await node.loseMachine();
      proxy.close();
      await db.close();
      await store.dispose();
      rmSync(base, { recursive: true, force: true });
    },
  };
}
