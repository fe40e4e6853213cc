import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { startCutOffProxy, type CutOffProxy } from "../../test/chaos/cut-off-proxy.ts";
import { cloneDatabase, type TestDatabase } from "../../test/support/test-database.ts";
import { openDatabase, type Database } from "./database.ts";
import { requestWork } from "./work-limits.ts";

let database: TestDatabase;
let proxy: CutOffProxy;
let db: Database;

beforeAll(async () => {
  database = await cloneDatabase();
});
beforeEach(async () => {
  const host = "127.0.0.1";
  proxy = await startCutOffProxy({ host, port: database.connection.port });
  const short = { connections: 3, statementMs: 800, unitMs: 1500, patientStatementMs: 5_000, patientUnitMs: 6_000 };
  db = openDatabase({ ...database.connection, host, port: proxy.port }, { work: { ...requestWork, ...short } });
});
afterEach(async () => {
  proxy.close();
  await db.close();
});
afterAll(() => database.drop());

const away = { name: "Fault", code: "unavailable", retryAfterSeconds: expect.any(Number) };

async function storedNames(): Promise<unknown[]> {
  const direct = openDatabase({ ...database.connection, max: 1 });
  try {
    return (await direct.system.query<{ name: string }>("select name from account order by id")).map(
      ({ name }) => name,
    );
  } finally {
    await direct.close();
  }
}

describe("when the database does not respond", () => {
  test("callers that wait for a connection are refused in time, and every connection can be used again", async () => {
    await Promise.all([1, 2, 3].map(() => db.system.query("select pg_sleep(0.05)"))); // the pool is full
    await proxy.cut();
    const asked = [1, 2].flatMap((account) =>
      Array.from({ length: 5 }, async () => db.accountReader(account).query("select 1")),
    );
    for (const end of await Promise.allSettled(asked)) expect(end).toMatchObject({ status: "rejected", reason: away });
    await proxy.heal("arrives");
    await expect.poll(() => db.system.query("select 1 as one").catch(() => [])).toEqual([{ one: 1 }]);
    const answers = Array.from({ length: 12 }, (_, n) =>
      db.accountReader(1 + (n % 2)).query("select $1::int as n", [n]),
    );
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 12 }, (_, n) => [{ n }]));
    let ended = 0;
    const held = [1, 2, 3].map(async () => {
      await db.system.query("select pg_sleep(0.3)");
      ended += 1;
    });
    await expect.poll(() => [db.stats().waiting, ended], { interval: 20 }).toEqual([0, 0]); // all at the same time
    await Promise.all(held);
  });

  test("a transaction fails in time, is rolled back, and its late reply is not taken for another", async () => {
    const work = db.asSystem(async (tx) => {
      await tx.query("insert into account (name) values ('half done')");
      await proxy.cut();
      return tx.query("select 1 as one");
    });
    await expect(work).rejects.toMatchObject(away);
    await proxy.heal("arrives");
    await expect.poll(() => db.system.query("select 0 as ready").catch(() => [])).toEqual([{ ready: 0 }]);
    const answers = Array.from({ length: 20 }, (_, n) => db.system.query("select $1::int as n", [n]));
    expect(await Promise.all(answers)).toEqual(Array.from({ length: 20 }, (_, n) => [{ n }]));
    expect(await storedNames()).not.toContain("half done");
  });

  test("after the commit was sent, the error does not claim that nothing was stored", async () => {
    const work = db.asSystem(async (tx) => {
      await tx.query("insert into account (name) values ('perhaps')");
      await proxy.cut();
    });
    await expect(work).rejects.toMatchObject({ ...away, message: expect.stringMatching(/may or may not be stored/) });
    await proxy.heal("arrives");
  });

  test("all statements on a shared connection fail, and the next one succeeds on another", async () => {
    expect(await db.shared.query("select 1 as one")).toEqual([{ one: 1 }]);
    await proxy.cut();
    const asked = [1, 2, 3].map((n) => db.shared.query("select $1::int as n", [n]));
    for (const each of asked) await expect(each).rejects.toMatchObject(away);
    await proxy.heal("is lost");
    expect(await db.shared.query("select 2 as two")).toEqual([{ two: 2 }]);
  });
});

describe("on a responsive database", () => {
  test("PostgreSQL cancels a statement that takes too long, so that work does not pile up", async () => {
    await expect(db.system.query("select pg_sleep(60)")).rejects.toMatchObject(away);
    const running = "select 1 from pg_stat_activity where query like '%pg_sleep(60)' and state = 'active'";
    expect(await db.system.query(`${running} and pid <> pg_backend_pid()`)).toEqual([]);
  });

  test("a patient read may take longer than others", async () => {
    const sql = "select 1 as one from pg_sleep(0.8)";
    await expect(db.accountReader(1).query(sql)).rejects.toMatchObject(away);
    expect(await db.patientReader(1).query(sql)).toEqual([{ one: 1 }]);
  });

  test("a caller that waits for a connection fails in time if all are taken", async () => {
    const { promise: end, resolve } = Promise.withResolvers<undefined>();
    const holders = [1, 2, 3].map(() => db.asSystem(() => end));
    await expect(db.system.query("select 1")).rejects.toMatchObject(away);
    resolve(undefined);
    await Promise.allSettled(holders);
    expect(await db.system.query("select 1 as one")).toEqual([{ one: 1 }]);
  });
});
