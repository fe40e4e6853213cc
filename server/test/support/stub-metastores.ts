import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, expect } from "vitest";
import { AccountCatalogs } from "../../src/catalog/metastores/account-catalogs.ts";
import type { MetastoreLaunch, MetastoreProcess } from "../../src/catalog/metastores/start-metastore.ts";
import { Metastores, type MetastoresOptions } from "../../src/catalog/metastores/metastores.ts";
import { openDatabase, type Database } from "../../src/db/database.ts";
import { newKey, KeyRing } from "../../src/lib/key-ring.ts";
import { removeTree } from "../../src/processes/tree-removal/remove-tree.ts";
import { cloneDatabase, type TestDatabase } from "./test-database.ts";

/** Replaces the JVM by a listening socket and a folder. */
export class StubMetastore implements MetastoreProcess {
  readonly folder: string;
  launch: MetastoreLaunch | undefined;
  isStopped = false;
  isSilent = false;
  trouble: Error | undefined;
  asked = 0;
  readonly #all: StubMetastores;
  readonly #server: Server = createServer();
  readonly #ended = Promise.withResolvers<void>();

  constructor(folder: string, all: StubMetastores) {
    this.folder = folder;
    this.#all = all;
  }

  async startFor(launch: MetastoreLaunch): Promise<void> {
    if (this.#all.failure !== undefined) throw this.#all.failure;
    expect(this.#all.running(), "of one account no two at a time").toEqual([]);
    this.launch = launch;
    await this.#all.beforeListening(launch.port);
    this.#server.listen(launch.port, "127.0.0.1");
    await once(this.#server, "listening").catch(async () => {
      await once(this.#server.listen(0, "127.0.0.1"), "listening");
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0; // it listens on TCP
  }

  async ready(): Promise<number> {
    const early = this.#ended.promise.then(() => {
      throw new Error("it ended before it was ready");
    });
    await Promise.race([this.#all.served, early]);
    return this.port;
  }

  isAlive(): Promise<boolean> {
    return Promise.resolve(this.#server.listening);
  }

  isHealthy(): Promise<boolean> {
    this.asked += 1;
    return this.trouble === undefined ? Promise.resolve(!this.isSilent) : Promise.reject(this.trouble);
  }

  ended(): Promise<void> {
    return this.#ended.promise;
  }

  /** Simulates kill -9. */
  async die(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    await closed;
    this.#ended.resolve();
  }

  async stop(): Promise<void> {
    this.isStopped = true;
    if (this.#server.listening) await this.die();
    await removeTree(this.folder);
  }
}

/** An account, and the successive Headgates that run its metastore. */
export class StubMetastores {
  readonly db: Database;
  readonly accountId: number;
  readonly #dataDir = mkdtempSync(join(tmpdir(), "headgate-metastores-"));
  readonly #keys = new KeyRing([newKey([])], () => []);
  readonly #opened: Metastores[] = [];
  readonly #processes = new Map<string, StubMetastore>();
  /** Whether a Spark of the account runs. */
  inUse = true;
  storage: Record<string, string> = { "spark.sql.warehouse.dir": "file:///here" };
  /** If set, every start fails with this error. */
  failure: Error | undefined;
  /** Called with the wanted port. */
  beforeListening: (port: number) => Promise<void> = () => Promise.resolve();
  /** Settles when the processes begin to serve; before that they only listen. */
  served: Promise<void> = Promise.resolve();

  constructor(db: Database, accountId: number) {
    this.db = db;
    this.accountId = accountId;
  }

  catalogs(): AccountCatalogs {
    return new AccountCatalogs(this.db.system, this.#keys);
  }

  open(options: Partial<MetastoresOptions> = {}): Metastores {
    const metastores = new Metastores({
      dataDir: this.#dataDir,
      catalogs: this.catalogs(),
      storageOf: () => Promise.resolve({ properties: this.storage }),
      isInUse: () => Promise.resolve(this.inUse),
      openProcess: (folder) => this.processOf(folder),
      memoryMiB: 500,
      processors: 2,
      log: pino({ level: "silent" }),
      ...options,
    });
    this.#opened.push(metastores);
    return metastores;
  }

  /** Closes the Headgate that was opened last. */
  close(): void {
    this.#opened.at(-1)?.close();
  }

  reopen(options?: Partial<MetastoresOptions>): Metastores {
    this.close();
    return this.open(options);
  }

  /** After a restart the process is found by its folder. */
  processOf(folder: string): StubMetastore {
    const process = this.#processes.get(folder) ?? new StubMetastore(folder, this);
    this.#processes.set(folder, process);
    return process;
  }

  running(): StubMetastore[] {
    return [...this.#processes.values()].filter(({ port }) => port !== 0);
  }

  only(): StubMetastore {
    const [one, ...more] = this.running();
    expect(more).toEqual([]);
    if (one === undefined) throw new Error("no metastore is running");
    return one;
  }

  async end(): Promise<void> {
    for (const each of this.#opened) each.close();
    for (const each of this.#processes.values()) await each.stop();
    rmSync(this.#dataDir, { recursive: true });
  }
}

/** Gives each test its own account, on a database of the test file. */
export function useStubMetastores(give: (metastores: StubMetastores) => void): void {
  let database: TestDatabase;
  let db: Database;
  let given: StubMetastores;
  beforeAll(async () => {
    database = await cloneDatabase();
    db = openDatabase(database.connection);
  });
  beforeEach(async () => {
    const [row] = await db.system.query<{ id: number }>("insert into account (name) values ('a') returning id");
    given = new StubMetastores(db, row?.id ?? 0);
    give(given);
  });
  afterEach(() => given.end());
  afterAll(async () => {
    await db.close();
    await database.drop();
  });
}
