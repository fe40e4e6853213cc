/**
 * Nodes on one database, the second connected through a proxy that can cut it off, and a journal that all drivers write
 * to. The clocks of the database and of the third node can be set. Queries run on a stub of a Spark Connect server;
 * refreshes have tables and a server for their folders; copies have an S3 server.
 */
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { accountIdentity } from "../../src/commands/execution/command-files.ts";
import { openDatabase, type Database } from "../../src/db/database.ts";
import { findBubblewrap } from "../../src/processes/sandbox/find-bubblewrap.ts";
import { newKey, writeKeys } from "../../src/lib/key-ring.ts";
import type { ProcessFacts } from "../../src/lib/process-table.ts";
import { testCacheDir } from "../support/cache-dir.ts";
import {
  foundScratchAccount,
  makeScratchStore,
  type ScratchAccount,
  type ScratchStore,
  type StoreConnection,
} from "../support/scratch-store.ts";
import { addSteppedClock } from "../support/stepped-clock.ts";
import { ChaosNode } from "./chaos-node.ts";
import type { CutOffAnswer } from "./cut-off-answers.ts";
import { openCopyStore, type CopyStore } from "./copy-store.ts";
import { startCutOffProxy, type CutOffProxy } from "./cut-off-proxy.ts";
import { makeMetastoreTables } from "./metastore-tables.ts";
import { makeNodeClock, type NodeClock } from "./node-clock.ts";
import { Outages } from "./outages.ts";
import { servePartitionFolders, type PartitionFolders } from "./partition-folders.ts";
import { findAllBelow, kill } from "./processes.ts";
import { SparkServer } from "./spark-server.ts";

export interface ChaosWorld {
  readonly nodes: readonly ChaosNode[];
  readonly proxy: CutOffProxy;
  readonly store: ScratchStore;
  readonly db: Database;
  /** Of the database that the nodes share. */
  readonly connection: StoreConnection;
  readonly account: ScratchAccount;
  readonly spark: SparkServer;
  readonly folders: PartitionFolders;
  readonly copies: CopyStore;
  readonly journal: string;
  readonly queryJournal: string;
  /** Runners end their programs when the lease was not renewed for this long. */
  readonly leaseSeconds: number;
  /** When a node has been silent for this long, the other one settles its commands. */
  readonly silentSeconds: number;
  /** Whether there are standby drivers: they need a sandbox. */
  readonly hasStandbys: boolean;
  readonly outages: Outages;
  /** The clock of the third node, or the reason why it cannot be set. Undefined: there is no third node. */
  readonly nodeClock: NodeClock | string | undefined;
  readonly cutOffAnswers: CutOffAnswer[];
  /** The keys of commands that were submitted to a node that was cut off. */
  readonly keysToRepeat: string[];
  /** The keys (`keyOf`) of runners of which a fault killed a process, the runner's own or the driver's. */
  readonly killedRunners: Set<string>;
  /** All live processes of this world. */
  processes(): Promise<readonly ProcessFacts[]>;
  /** Kills all processes and removes all files, for a chaos run that is interrupted. */
  destroy(): Promise<void>;
  /** Stops everything. Returns the processes that were left after that, and kills those of the nodes. */
  close(): Promise<string[]>;
}

const LEASE_SECONDS = 5;
/** As in the dispatcher: the lease and a margin of the same length. */
const SILENT_SECONDS = 2 * LEASE_SECONDS;
const END_PATIENCE_MS = 20_000;

export async function openWorld(tables: number, nodeCount: number): Promise<ChaosWorld> {
  const store = await makeScratchStore();
  const base = mkdtempSync(join(tmpdir(), "headgate-chaos-"));
  chmodSync(base, 0o711);
  const [journal, queryJournal, keyFile] = [join(base, "journal"), join(base, "queries"), join(base, "keys")];
  for (const path of [journal, queryJournal]) writeFileSync(path, "");
  chmodSync(journal, 0o666); // the account's user writes to it
  writeKeys(keyFile, [newKey([])]);
  // Over TCP, because metastores need it.
  const connection = { ...(await store.newDatabase()), host: "127.0.0.1" };
  await addSteppedClock(connection);
  const account = await foundScratchAccount(connection, "chaos");
  const { accountId } = account;
  await makeMetastoreTables(connection, { accountId, keyFile, count: tables });
  const proxy = await startCutOffProxy({ host: "127.0.0.1", port: connection.port });
  const spark = new SparkServer(queryJournal);
  await spark.start();
  const folders = await servePartitionFolders();
  const s3Folder = join(base, "s3");
  mkdirSync(s3Folder);
  const copies = await openCopyStore(testCacheDir(), s3Folder);
  const settings = {
    DATABASE_URL: "postgres://shared",
    HEADGATE_KEY_FILE: keyFile,
    HEADGATE_LEASE_SECONDS: String(LEASE_SECONDS),
    HEADGATE_COMMANDS_PER_CLUSTER: "6",
    HEADGATE_ALLOWED_NETWORKS: "127.0.0.0/8",
    TEST_STANDBY: "1",
  };
  const connections = Array.from({ length: nodeCount }, (_, index) =>
    index === 1 ? { ...connection, port: proxy.port } : connection,
  );
  const nodeClock = nodeCount > 2 ? await makeNodeClock(base) : undefined;
  const dataDirs = connections.map((_, index) => join(base, `node-${index + 1}`));
  const nodes = connections.map((each, index) => {
    const dataDir = dataDirs[index] ?? "";
    mkdirSync(dataDir, { mode: 0o711 });
    const clockSettings = index === 2 && typeof nodeClock === "object" ? nodeClock.settings : {};
    const own = { ...settings, ...clockSettings };
    return new ChaosNode({ dataDir, connection: each, settings: own, accountId, journal });
  });
  const db = openDatabase({ ...connection, max: 2 });
  const processes = (): Promise<readonly ProcessFacts[]> => findAllBelow([base, dirname(store.dataDir)], dataDirs);
  return {
    nodes,
    proxy,
    store,
    db,
    connection,
    account,
    spark,
    folders,
    copies,
    journal,
    queryJournal,
    leaseSeconds: LEASE_SECONDS,
    silentSeconds: SILENT_SECONDS,
    hasStandbys: (await findBubblewrap(accountIdentity(accountId), testCacheDir())).kind === "usable",
    outages: new Outages(),
    nodeClock,
    cutOffAnswers: [],
    keysToRepeat: [],
    killedRunners: new Set(),
    processes,
    async destroy() {
      for (let left = await processes(); left.length > 0; left = await processes())
        for (const { pid } of left) kill(pid);
      for (const folder of [base, dirname(store.dataDir)]) rmSync(folder, { recursive: true, force: true });
    },
    close: once(async () => {
      for (const node of nodes) await node.stop();
      await spark.kill();
      folders.close();
      await copies.close();
      proxy.close();
      await db.close();
      await store.dispose();
      const left = await findLeftover(processes);
      for (const node of nodes) await node.loseMachine();
      rmSync(base, { recursive: true, force: true });
      return left;
    }),
  };
}

function once<T>(work: () => Promise<T>): () => Promise<T> {
  let done: Promise<T> | undefined;
  return () => (done ??= work());
}

/** Waits a while, because processes may take a moment to end. */
async function findLeftover(processes: () => Promise<readonly ProcessFacts[]>): Promise<string[]> {
  const end = performance.now() + END_PATIENCE_MS;
  for (;;) {
    const left = await processes();
    if (left.length === 0 || performance.now() > end)
      return left.map(({ pid, commandLine }) => `${pid}: ${commandLine}`);
    await delay(200);
  }
}
