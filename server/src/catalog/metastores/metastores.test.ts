import { once } from "node:events";
import { createServer } from "node:net";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { useStubMetastores, type StubMetastores } from "../../../test/support/stub-metastores.ts";
import { endProcessesOfDeletedAccounts } from "./end-processes-of-deleted-accounts.ts";

let given: StubMetastores;
useStubMetastores((own) => {
  given = own;
});

describe("the metastore of an account", () => {
  test("is started once for concurrent requests, which all get its port and secret", async () => {
    const metastores = given.open();
    const replies = await Promise.all([1, 2, 3].map(() => metastores.contributionOf(given.accountId)));
    const { port, launch } = given.only();
    expect(new Set(replies.map((each) => JSON.stringify(each))).size).toBe(1);
    expect(replies[0]?.properties).toMatchObject({
      "spark.sql.catalogImplementation": "hive",
      "spark.hadoop.hive.metastore.uris": `thrift://127.0.0.1:${port}`,
      "spark.headgate.metastore.secret": launch?.secrets.secret.reveal(),
    });
    expect(metastores.reservedMiB()).toBe(500);
  });

  test("needs only one database round trip per request while it runs", async () => {
    const metastores = given.open();
    await metastores.contributionOf(given.accountId, { properties: given.storage });
    const before = given.db.stats().roundTrips;
    await metastores.contributionOf(given.accountId, { properties: given.storage });
    expect(given.db.stats().roundTrips - before).toBe(1);
  });

  test("is waited for until it listens, so that Spark starts while it becomes ready", async () => {
    given.served = new Promise(() => undefined);
    await given.open().contributionOf(given.accountId);
    given.only();
  });

  test("leaves the processors to the Spark that starts with it only if there are few of them", async () => {
    await given.open({ processors: 3 }).contributionOf(given.accountId);
    expect(given.only().launch?.firstClientWaitMs).toBeGreaterThan(0);
    given.close(); // so that it does not replace the process
    await given.only().stop();
    await given.open({ processors: 4 }).contributionOf(given.accountId);
    expect(given.only().launch?.firstClientWaitMs).toBe(0);
  });

  test("is replaced when the account's storage changes, with the same port and secret", async () => {
    const metastores = given.open();
    const before = await metastores.contributionOf(given.accountId);
    const old = given.only();
    given.storage = { ...given.storage, "spark.hadoop.fs.s3a.access.key": "another" };
    const replies = await Promise.all([1, 2].map(() => metastores.contributionOf(given.accountId)));
    expect(replies).toEqual([before, before]);
    expect(old.isStopped).toBe(true);
    expect(given.only().launch?.storage.properties).toEqual(given.storage);
  });

  test("gets a new secret with a new port, as a foreign process on the old port may have seen the old secret", async () => {
    const metastores = given.open();
    const before = await metastores.contributionOf(given.accountId);
    const { port } = given.only();
    given.inUse = false;
    await given.only().die();
    await expect.poll(() => metastores.reservedMiB()).toBe(0);
    const foreign = createServer().listen(port, "127.0.0.1");
    await once(foreign, "listening");
    try {
      const after = await metastores.contributionOf(given.accountId);
      const moved = given.only();
      expect(moved.port).not.toBe(port);
      const secret = "spark.headgate.metastore.secret";
      expect(after.properties[secret]).not.toBe(before.properties[secret]);
      expect(after.properties[secret]).toBe(moved.launch?.secrets.secret.reveal());
      expect(await metastores.contributionOf(given.accountId)).toEqual(after);
      expect(given.only()).toBe(moved);
    } finally {
      foreign.close();
    }
  });

  test("gets a new secret even if the first attempt to renew it fails", async () => {
    const before = await given.open().contributionOf(given.accountId);
    const { port } = given.only();
    given.close();
    await given.only().die();
    const foreign = createServer().listen(port, "127.0.0.1");
    await once(foreign, "listening");
    try {
      const catalogs = given.catalogs();
      const failing = given.reopen({
        catalogs: { find: (id) => catalogs.find(id), renewSecret: () => Promise.reject(new Error("no database")) },
      });
      await expect(failing.contributionOf(given.accountId)).rejects.toThrow("no database");
      const after = await given.reopen().contributionOf(given.accountId);
      const secret = "spark.headgate.metastore.secret";
      expect(after.properties[secret]).not.toBe(before.properties[secret]);
    } finally {
      foreign.close();
    }
  });

  test("is replaced, with a new secret, if another process takes its port while it starts", async () => {
    const lines: string[] = [];
    const metastores = given.open({ log: pino({}, { write: (line) => void lines.push(line) }) });
    const foreign = createServer();
    given.beforeListening = async (port) => {
      given.beforeListening = () => Promise.resolve();
      await once(foreign.listen(port, "127.0.0.1"), "listening");
    };
    try {
      const promised = await metastores.contributionOf(given.accountId);
      const misplaced = given.only();
      const { port, launch } = misplaced;
      await expect.poll(() => misplaced.isStopped).toBe(true);
      expect(lines.join("")).toContain(
        `the metastore listens on port ${port}, because another process has taken port ${launch?.port}`,
      );
      const after = await metastores.contributionOf(given.accountId);
      for (const key of ["spark.headgate.metastore.secret", "spark.hadoop.hive.metastore.uris"]) {
        expect(after.properties[key]).not.toBe(promised.properties[key]);
      }
      expect(after.properties["spark.hadoop.hive.metastore.uris"]).toBe(`thrift://127.0.0.1:${given.only().port}`);
    } finally {
      foreign.close();
    }
  });

  test("that cannot be started reports the reason to all callers, and is started again at the next request", async () => {
    const metastores = given.open();
    given.failure = new Error("no right to do so");
    const replies = await Promise.allSettled([1, 2].map(() => metastores.contributionOf(given.accountId)));
    expect(replies).toEqual([1, 2].map(() => ({ status: "rejected", reason: given.failure })));
    expect(metastores.reservedMiB()).toBe(0);
    given.failure = undefined;
    await metastores.contributionOf(given.accountId);
    given.only();
  });

  test("is ended when no Spark of the account has run for a while, and not before", async () => {
    const metastores = given.open({ idleMs: 0 });
    await metastores.contributionOf(given.accountId);
    await metastores.evictIdle();
    given.only();
    given.inUse = false;
    await metastores.evictIdle(60_000);
    given.only();
    await metastores.evictIdle();
    await expect.poll(() => given.running()).toEqual([]);
    expect(metastores.reservedMiB()).toBe(0);
  });

  test("is not ended when it is requested during the check for idle ones", async () => {
    let meanwhile = (): Promise<unknown> => Promise.resolve();
    const metastores = given.open({
      idleMs: 0,
      isInUse: async () => {
        await meanwhile();
        return false;
      },
    });
    await metastores.contributionOf(given.accountId);
    const before = given.only();
    meanwhile = () => metastores.contributionOf(given.accountId);
    await metastores.evictIdle();
    expect(given.only()).toBe(before);
  });

  test("is ended on demand, and the next one starts only after it has ended", async () => {
    const metastores = given.open();
    await metastores.contributionOf(given.accountId);
    const first = given.only();
    const stopping = metastores.stop(given.accountId);
    await metastores.contributionOf(given.accountId); // `StubMetastore.startFor` would see two
    await stopping;
    expect(given.only()).not.toBe(first);
    await metastores.stop();
    expect(given.running()).toEqual([]);
  });

  test("is not started if the account has an external one", async () => {
    const uri = "thrift://metastore.example.com:9083";
    await given.db.system.query("update account set metastore_uri = $2 where id = $1", [given.accountId, uri]);
    const { properties } = await given.open().contributionOf(given.accountId);
    expect(properties).toEqual({
      "spark.sql.catalogImplementation": "hive",
      "spark.hadoop.hive.metastore.uris": uri,
    });
    expect(given.running()).toEqual([]);
  });

  test("is not started for a deleted account", async () => {
    await expect(given.open().contributionOf(9_999_999)).rejects.toMatchObject({ code: "not-found" });
  });

  test("is ended when the account is deleted, and not restarted for Sparks that still run", async () => {
    const metastores = given.open();
    await metastores.contributionOf(given.accountId);
    await endProcessesOfDeletedAccounts(given.db.system, [metastores]);
    given.only();
    await given.db.system.query("delete from account where id = $1", [given.accountId]);
    await endProcessesOfDeletedAccounts(given.db.system, [metastores]);
    expect(given.running()).toEqual([]);
    expect(metastores.accounts()).toEqual([]);
  });
});
