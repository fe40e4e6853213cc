import { Client } from "pg";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../test/support/test-database.ts";
import { openDatabase, type Database, type Queryable } from "./database.ts";
import { requestWork } from "./work-limits.ts";

const CONNECTIONS = 8;
/** The connections of one account while others are active. */
const FEW = 2;
const [BUSY, BUSY_TOO, OTHER] = [1, 2, 3];

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.connection, { work: { ...requestWork, connections: CONNECTIONS } });
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

test("accounts that need far more connections than there are do not keep other accounts waiting", async () => {
  await whileLocked(async (waitForLock) => {
    const all = Array.from({ length: 100 }, (_, n) => waitForLock(db.accountReader(n % 2 === 0 ? BUSY : BUSY_TOO)));
    await expect.poll(() => db.stats().waiting, { interval: 10 }).toBe(all.length - 2 * FEW);
    for (const ask of [
      () => db.accountReader(OTHER).query("select 1"),
      () => db.asAccount(OTHER, (tx) => tx.query("select 1")),
      () => db.shared.query("select 1"),
      () => db.system.query("select 1"),
    ]) {
      await ask(); // while all the others wait for the lock
    }
    expect(db.stats().waiting).toBe(all.length - 2 * FEW);
    return all;
  });
  expect(db.stats().waiting).toBe(0);
});

test("an account gets a few connections while others are active, most of them if it is the only one, and the system may use all", async () => {
  await db.accountReader(OTHER).query("select 1");
  await db.accountReader(BUSY).query("select 1");
  await expectToWait(CONNECTIONS - FEW, db.accountReader(BUSY));
  await expectToWait(0, db.system);

  const alone = openDatabase(database.connection, { work: { ...requestWork, connections: CONNECTIONS } });
  onTestFinished(() => alone.close());
  await expectToWait(CONNECTIONS / 4, alone.accountReader(BUSY), alone);
});

test("many accounts with slow statements leave connections for the checks of every request", async () => {
  await whileLocked(async (waitForLock) => {
    const accounts = Array.from({ length: CONNECTIONS }, (_, n) => db.accountReader(n + 1));
    const all = accounts.flatMap((reader) => [waitForLock(reader), waitForLock(reader)]);
    await expect.poll(() => db.stats().waiting, { interval: 10 }).toBe(all.length - (CONNECTIONS - 2));
    expect(await db.shared.query("select 1 as one")).toEqual([{ one: 1 }]);
    return all;
  });
});

/** Sends as many statements as there are connections, and expects `count` of them to wait. */
async function expectToWait(count: number, asked: Queryable, of = db): Promise<void> {
  await whileLocked(async (waitForLock) => {
    const all = Array.from({ length: CONNECTIONS }, () => waitForLock(asked));
    await expect.poll(() => of.stats().waiting, { interval: 10 }).toBe(count);
    return all;
  });
}

/** Holds a lock until `work` is done, and then waits for the statements that it returns. */
async function whileLocked(
  work: (waitForLock: (asked: Queryable) => Promise<unknown>) => Promise<Promise<unknown>[]>,
): Promise<void> {
  const lock = new Client(database.connection);
  await lock.connect();
  try {
    await lock.query("select pg_advisory_lock(1)");
    const all = await work((asked) => asked.query("select pg_advisory_xact_lock_shared(1)"));
    await lock.query("select pg_advisory_unlock(1)");
    await Promise.all(all);
  } finally {
    await lock.end();
  }
}

test("the only active account loses no connection, however its statements end", async () => {
  const asked = Array.from({ length: 50 }, async (_, n) =>
    db.accountReader(BUSY).query(n % 5 === 0 ? "select 1 / 0" : "select 1"),
  );
  const ends = await Promise.allSettled(asked);
  expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(10);
  expect(await db.accountReader(BUSY).query("select 1 as one")).toEqual([{ one: 1 }]);
});
