import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../test/support/test-database.ts";
import { openDatabase, type Database, type Queryable } from "./database.ts";
import { requestWork } from "./work-limits.ts";

const CONNECTIONS = 8;
/** Of one account, while others ask for connections as well. */
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

test("an account beside others has few connections, one alone most of them, and the system all", async () => {
  await db.accountReader(OTHER).query("select 1");
  await db.accountReader(BUSY).query("select 1");
  expect(await waitingAtOnce(db.accountReader(BUSY))).toBe(CONNECTIONS - FEW);
  expect(await waitingAtOnce(db.system)).toBe(0);

  const alone = openDatabase(database.connection, { work: { ...requestWork, connections: CONNECTIONS } });
  onTestFinished(() => alone.close());
  expect(await waitingAtOnce(alone.accountReader(BUSY), alone)).toBe(CONNECTIONS / 4);
});

/** How many of as many statements as there are connections wait for one when the others have all begun. */
async function waitingAtOnce(asked: Queryable, of = db): Promise<number> {
  let ended = 0;
  const sleep = async (): Promise<void> => {
    await asked.query("select pg_sleep(0.4)");
    ended += 1;
  };
  const all = Array.from({ length: CONNECTIONS }, sleep);
  await new Promise((turn) => setImmediate(turn));
  const { waiting } = of.stats();
  expect(ended).toBe(0);
  await Promise.all(all);
  return waiting;
}

test("an account alone loses none of its statements, whatever ends them", async () => {
  const asked = Array.from({ length: 50 }, async (_, n) =>
    db.accountReader(BUSY).query(n % 5 === 0 ? "select 1 / 0" : "select 1"),
  );
  const ends = await Promise.allSettled(asked);
  expect(ends.filter(({ status }) => status === "rejected")).toHaveLength(10);
  expect(await db.accountReader(BUSY).query("select 1 as one")).toEqual([{ one: 1 }]);
});
