import { afterAll, beforeAll, expect, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../test/support/test-database.ts";
import { openDatabase, type Database, type Queryable } from "./database.ts";
import { requestWork } from "./work-limits.ts";

const CONNECTIONS = 4;
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

test("accounts that ask for far more than there are connections keep no other account waiting", async () => {
  let done = 0;
  const slow = async (account: number): Promise<void> => {
    await db.accountReader(account).query("select pg_sleep(0.02)");
    done += 1;
  };
  const all = Array.from({ length: 100 }, (_, n) => slow(n % 2 === 0 ? BUSY : BUSY_TOO));
  await expect.poll(() => done).toBeGreaterThan(0);
  for (const ask of [
    () => db.accountReader(OTHER).query("select 1"),
    () => db.asAccount(OTHER, (tx) => tx.query("select 1")),
    () => db.shared.query("select 1"),
    () => db.system.query("select 1"),
  ]) {
    const before = done;
    await ask();
    expect(done - before).toBeLessThanOrEqual(2 * CONNECTIONS);
  }
  expect(db.stats().waiting).toBeGreaterThan(0);
  await Promise.all(all);
  expect(db.stats().waiting).toBe(0);
});

test("an account has no more than half of the connections, and the system all of them", async () => {
  let ended = 0;
  const sleep = async (asked: Queryable): Promise<void> => {
    await asked.query("select pg_sleep(0.4)");
    ended += 1;
  };
  const waiting = () => [db.stats().waiting, ended];
  const ofAccount = Array.from({ length: CONNECTIONS }, async () => sleep(db.accountReader(BUSY)));
  await expect.poll(waiting, { interval: 20 }).toEqual([CONNECTIONS / 2, 0]);
  await Promise.all(ofAccount);
  ended = 0;
  const ofSystem = Array.from({ length: CONNECTIONS }, async () => sleep(db.system));
  await expect.poll(waiting, { interval: 20 }).toEqual([0, 0]);
  await Promise.all(ofSystem);
});

test("an account alone loses none of its statements, whatever ends them", async () => {
  const asked = Array.from({ length: 50 }, async (_, n) =>
    db.accountReader(BUSY).query(n % 5 === 0 ? "select 1 / 0" : "select 1"),
  );
  const ends = await Promise.allSettled(asked);
  expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(10);
  expect(await db.accountReader(BUSY).query("select 1 as one")).toEqual([{ one: 1 }]);
});
