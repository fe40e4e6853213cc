import { cpSync, existsSync, mkdtempSync, rmSync } from "node:fs";
import { createServer, type AddressInfo, type Server } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { openDatabase, type Database } from "../../db/database.ts";
import { newKey } from "../../lib/key-file.ts";
import { KeyRing } from "../../lib/key-ring.ts";
import { removeTree } from "../../lib/remove-tree.ts";
import { AccountCatalogs } from "./account-catalogs.ts";
import { endGoneAccounts } from "./end-gone.ts";
import type { MetastoreLaunch, MetastoreProcess } from "./metastore-process.ts";
import { Metastores, type MetastoresOptions } from "./metastores.ts";

let database: TestDatabase;
let db: Database;
const keys = new KeyRing([newKey([])], () => []);

beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.connection);
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

/** Stands for the JVM: a socket that listens, and a folder. Whoever restarts finds it by the folder. */
class Listener implements MetastoreProcess {
  static readonly all = new Map<string, Listener>();
  readonly folder: string;
  launch: MetastoreLaunch | undefined;
  isStopped = false;
  isSilent = false;
  trouble: Error | undefined;
  asked = 0;
  readonly #server: Server = createServer();
  readonly #ended = Promise.withResolvers<void>();

  constructor(folder: string) {
    this.folder = folder;
    Listener.all.set(folder, this);
  }

  async start(launch: MetastoreLaunch): Promise<void> {
    if (failure !== undefined) throw failure;
    expect(running(launch.accountId), "of one account no two at a time").toEqual([]);
    this.launch = launch;
    this.#server.listen(launch.port, "127.0.0.1");
    await once(this.#server, "listening").catch(async () => {
      await once(this.#server.listen(0, "127.0.0.1"), "listening");
    });
  }

  get port(): number {
    return (this.#server.address() as AddressInfo | null)?.port ?? 0; // it listens on TCP
  }

  async ready(): Promise<number> {
    await served;
    return this.port;
  }

  listening(): Promise<number> {
    return Promise.resolve(this.port);
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

  /** As kill -9. */
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

function running(accountId: number): Listener[] {
  return [...Listener.all.values()].filter((each) => each.port !== 0 && each.launch?.accountId === accountId);
}

let dataDir: string;
let accountId: number;
let inUse: boolean;
let storage: Record<string, string>;
let failure: Error | undefined;
/** From when on processes do more than listen. */
let served: Promise<void>;
const opened: Metastores[] = [];

beforeEach(async () => {
  dataDir = mkdtempSync(join(tmpdir(), "headgate-metastores-"));
  const [row] = await db.system.query<{ id: number }>("insert into account (name) values ('a') returning id");
  accountId = row?.id ?? 0;
  inUse = true;
  storage = { "spark.sql.warehouse.dir": "file:///here" };
  failure = undefined;
  served = Promise.resolve();
});
afterEach(async () => {
  for (const each of opened.splice(0)) each.close();
  for (const each of Listener.all.values()) await each.stop();
  Listener.all.clear();
  rmSync(dataDir, { recursive: true });
});

function open(options: Partial<MetastoresOptions> = {}): Metastores {
  const metastores = new Metastores({
    dataDir,
    catalogs: new AccountCatalogs(db.system, keys),
    storageOf: () => Promise.resolve({ properties: storage }),
    isInUse: () => Promise.resolve(inUse),
    openProcess: (folder) => Listener.all.get(folder) ?? new Listener(folder),
    memoryMiB: 500,
    log: pino({ level: "silent" }),
    ...options,
  });
  opened.push(metastores);
  return metastores;
}

function only(): Listener {
  const [one, ...more] = running(accountId);
  expect(more).toEqual([]);
  if (one === undefined) throw new Error("none runs");
  return one;
}

const reopen = (options?: Partial<MetastoresOptions>): Metastores => {
  opened.at(-1)?.close();
  return open(options);
};

const AT_ONCE = { goodForMs: 0, everyMs: 0 };

describe("the metastore of an account", () => {
  test("is started once for all who ask at the same time, and leads to where it listens by its secret", async () => {
    const metastores = open();
    const told = await Promise.all([1, 2, 3].map(() => metastores.contributionOf(accountId)));
    const { port, launch } = only();
    expect(new Set(told.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(told[0]?.properties).toMatchObject({
      "spark.sql.catalogImplementation": "hive",
      "spark.hadoop.hive.metastore.uris": `thrift://127.0.0.1:${port}`,
      "spark.headgate.metastore.secret": launch?.secrets.secret.reveal(),
    });
    expect(metastores.reservedMiB()).toBe(500);
  });

  test("costs one look at the database while it runs", async () => {
    const metastores = open();
    await metastores.contributionOf(accountId, { properties: storage });
    const before = db.stats().roundTrips;
    await metastores.contributionOf(accountId, { properties: storage });
    expect(db.stats().roundTrips - before).toBe(1);
  });

  test("that dies under a live Spark is there again by itself, with the same port and secret", async () => {
    const metastores = open();
    const before = await metastores.contributionOf(accountId);
    const dead = only();
    await dead.die();
    await expect.poll(() => running(accountId).length).toBe(1);
    expect(await metastores.contributionOf(accountId)).toEqual(before);
    expect(existsSync(dead.folder)).toBe(false);
  });

  test("that does not answer is replaced before anybody gets it, with the same port and secret", async () => {
    const metastores = open({ looks: AT_ONCE });
    const before = await metastores.contributionOf(accountId);
    expect(await metastores.contributionOf(accountId)).toEqual(before);
    const silent = only();
    silent.isSilent = true;
    const told = await Promise.all([1, 2].map(() => metastores.contributionOf(accountId)));
    expect(told).toEqual([before, before]);
    expect(only()).not.toBe(silent);
  });

  test("that does not answer is replaced under a live Spark, which nobody starts", async () => {
    const metastores = open({ looks: AT_ONCE });
    await metastores.contributionOf(accountId);
    await metastores.contributionOf(accountId);
    const silent = only();
    silent.isSilent = true;
    metastores.replaceSilent();
    await expect.poll(() => running(accountId).filter((each) => each !== silent).length).toBe(1);
    expect(only().port).toBe(silent.launch?.port);
    expect(existsSync(silent.folder)).toBe(false);
  });

  test("of an earlier Headgate that does not answer is replaced under a live Spark, before any command", async () => {
    await open().contributionOf(accountId);
    const silent = only();
    silent.isSilent = true;
    const next = reopen({ looks: AT_ONCE });
    await next.adopt();
    await expect
      .poll(() => {
        next.replaceSilent();
        return running(accountId).filter((each) => each !== silent).length;
      })
      .toBe(1);
    expect(only().port).toBe(silent.launch?.port);
  });

  test("that cannot be asked is left alone: what fails on our side tells nothing of it", async () => {
    const metastores = open({ looks: AT_ONCE });
    await metastores.contributionOf(accountId);
    await metastores.contributionOf(accountId);
    const unasked = only();
    unasked.trouble = Object.assign(new Error("too many open files"), { code: "EMFILE" });
    await metastores.contributionOf(accountId);
    expect(unasked.asked).toBeGreaterThan(0);
    expect(only()).toBe(unasked);
  });

  test("that listens and never comes to serve is replaced, and the next is waited for until it serves", async () => {
    const metastores = open();
    await metastores.contributionOf(accountId);
    await metastores.stop();
    const failing = Promise.withResolvers<void>();
    served = failing.promise;
    await metastores.contributionOf(accountId);
    const stuck = only();
    const serving = Promise.withResolvers<void>();
    served = serving.promise;
    failing.reject(new Error("did not come up in time"));
    await expect.poll(() => running(accountId).filter((each) => each !== stuck).length).toBe(1);
    expect(stuck.isStopped).toBe(true);
    const told = metastores.contributionOf(accountId).then(() => "told");
    const looked = db.system.query("select 1").then(() => "waits");
    expect(await Promise.race([told, looked])).toBe("waits");
    serving.resolve();
    expect(await told).toBe("told");
  });

  test("that has not begun to serve is waited for", async () => {
    const metastores = open({ looks: AT_ONCE });
    await metastores.contributionOf(accountId);
    await metastores.stop();
    const serving = Promise.withResolvers<void>();
    served = serving.promise;
    await metastores.contributionOf(accountId);
    const slow = only();
    slow.isSilent = true;
    await metastores.contributionOf(accountId);
    expect(only()).toBe(slow);
    serving.resolve();
    await expect.poll(() => metastores.contributionOf(accountId).then(() => only() === slow)).toBe(false);
  });

  test("that dies unused stays so until it is needed, and is then told as before", async () => {
    const metastores = open();
    const before = await metastores.contributionOf(accountId);
    inUse = false;
    await only().die();
    await expect.poll(() => metastores.reservedMiB()).toBe(0);
    expect(running(accountId)).toEqual([]);
    expect(await metastores.contributionOf(accountId)).toEqual(before);
  });

  test("is found again by the next Headgate, with nothing started", async () => {
    const before = await open().contributionOf(accountId);
    const found = only();
    const next = reopen();
    await next.adopt();
    expect(await next.contributionOf(accountId)).toEqual(before);
    expect(only()).toBe(found);
    await found.die();
    await expect.poll(() => running(accountId).length).toBe(1);
    expect(await next.contributionOf(accountId)).toEqual(before);
  });

  test("that ended while nobody looked is started again as it was", async () => {
    const before = await open().contributionOf(accountId);
    opened.at(-1)?.close();
    await only().die();
    inUse = false;
    const next = open();
    await next.adopt();
    expect(next.reservedMiB()).toBe(0);
    expect(await next.contributionOf(accountId)).toEqual(before);
  });

  test("that ended while nobody looked is started for Sparks that have outlived it", async () => {
    await open().contributionOf(accountId);
    opened.at(-1)?.close();
    const { port } = only();
    await only().die();
    const next = open();
    await next.adopt();
    next.reviveLost();
    await expect.poll(() => running(accountId).map((each) => each.port)).toEqual([port]);
  });

  test("of an earlier Headgate that never comes to serve is ended, and started again for live Sparks", async () => {
    await open().contributionOf(accountId);
    const stuck = only();
    const { port } = stuck;
    const failing = Promise.withResolvers<void>();
    served = failing.promise;
    const next = reopen();
    await next.adopt();
    served = Promise.resolve();
    failing.reject(new Error("did not come up in time"));
    await expect.poll(() => next.reservedMiB()).toBe(0);
    expect(stuck.isStopped).toBe(true);
    next.reviveLost();
    await expect.poll(() => running(accountId).map((each) => each.port)).toEqual([port]);
  });

  test("is waited for until it serves at its first time, later until it listens", async () => {
    const metastores = open();
    const { promise, resolve } = Promise.withResolvers<void>();
    served = promise;
    const first = metastores.contributionOf(accountId).then(() => "told");
    await expect.poll(() => running(accountId).length).toBe(1);
    expect(await Promise.race([first, Promise.resolve("waits")])).toBe("waits");
    resolve();
    expect(await first).toBe("told");
    await metastores.stop();
    served = new Promise(() => undefined);
    await metastores.contributionOf(accountId);
    only();
  });

  test("is replaced when the account's storage changes, behind the same port and secret", async () => {
    const metastores = open();
    const before = await metastores.contributionOf(accountId);
    const old = only();
    storage = { ...storage, "spark.hadoop.fs.s3a.access.key": "another" };
    const told = await Promise.all([1, 2].map(() => metastores.contributionOf(accountId)));
    expect(told).toEqual([before, before]);
    expect(old.isStopped).toBe(true);
    expect(only().launch?.storage.properties).toEqual(storage);
  });

  test("gets another secret with another port: a stranger on the old one has been shown the old one", async () => {
    const metastores = open();
    const before = await metastores.contributionOf(accountId);
    const { port } = only();
    inUse = false;
    await only().die();
    await expect.poll(() => metastores.reservedMiB()).toBe(0);
    const stranger = createServer().listen(port, "127.0.0.1");
    await once(stranger, "listening");
    try {
      const after = await metastores.contributionOf(accountId);
      const moved = only();
      expect(moved.port).not.toBe(port);
      const secret = "spark.headgate.metastore.secret";
      expect(after.properties[secret]).not.toBe(before.properties[secret]);
      expect(after.properties[secret]).toBe(moved.launch?.secrets.secret.reveal());
      expect(await metastores.contributionOf(accountId)).toEqual(after);
      expect(only()).toBe(moved);
    } finally {
      stranger.close();
    }
  });

  test("that cannot be started says why to everybody, and is tried again when it is needed again", async () => {
    const metastores = open();
    failure = new Error("no right to do so");
    const told = await Promise.allSettled([1, 2].map(() => metastores.contributionOf(accountId)));
    expect(told).toEqual([1, 2].map(() => ({ status: "rejected", reason: failure })));
    expect(metastores.reservedMiB()).toBe(0);
    failure = undefined;
    await metastores.contributionOf(accountId);
    only();
  });

  test("is ended when no Spark of the account has run for a while, and not before", async () => {
    const metastores = open({ idleMs: 0 });
    await metastores.contributionOf(accountId);
    await metastores.evictIdle();
    only();
    inUse = false;
    await metastores.evictIdle(60_000);
    only();
    await metastores.evictIdle();
    await expect.poll(() => running(accountId)).toEqual([]);
    expect(metastores.reservedMiB()).toBe(0);
  });

  test("that is asked for while it is looked whether it is idle stays", async () => {
    let meanwhile = (): Promise<unknown> => Promise.resolve();
    const metastores = open({
      idleMs: 0,
      isInUse: async () => {
        await meanwhile();
        return false;
      },
    });
    await metastores.contributionOf(accountId);
    const before = only();
    meanwhile = () => metastores.contributionOf(accountId);
    await metastores.evictIdle();
    expect(only()).toBe(before);
  });

  test("is ended on demand, and the next one waits until it is gone", async () => {
    const metastores = open();
    await metastores.contributionOf(accountId);
    const first = only();
    const stopping = metastores.stop(accountId);
    await metastores.contributionOf(accountId); // `Listener.start` would see two
    await stopping;
    expect(only()).not.toBe(first);
    await metastores.stop();
    expect(running(accountId)).toEqual([]);
  });

  test("of the account's own choice is used instead of ours, and nothing is started", async () => {
    const uri = "thrift://metastore.example.com:9083";
    await db.system.query("update account set metastore_uri = $2 where id = $1", [accountId, uri]);
    const { properties } = await open().contributionOf(accountId);
    expect(properties).toEqual({
      "spark.sql.catalogImplementation": "hive",
      "spark.hadoop.hive.metastore.uris": uri,
    });
    expect(running(accountId)).toEqual([]);
  });

  test("of an account that is gone is not started", async () => {
    await expect(open().contributionOf(9_999_999)).rejects.toMatchObject({ code: "not-found" });
  });

  test("of an account that is gone is ended, and not started again for what still runs", async () => {
    const metastores = open();
    await metastores.contributionOf(accountId);
    await endGoneAccounts(db.system, [metastores]);
    only();
    await db.system.query("delete from account where id = $1", [accountId]);
    await endGoneAccounts(db.system, [metastores]);
    expect(running(accountId)).toEqual([]);
    expect(metastores.accounts()).toEqual([]);
  });

  test("of two that a crash has left one goes", async () => {
    await open().contributionOf(accountId);
    opened.at(-1)?.close();
    const kept = only();
    const folder = kept.folder.replace(/process-.*/, "process-zz");
    const second = new Listener(folder);
    cpSync(kept.folder, folder, { recursive: true });
    const next = open();
    await next.adopt();
    expect(second.isStopped).toBe(true);
    expect(only()).toBe(kept);
  });
});
