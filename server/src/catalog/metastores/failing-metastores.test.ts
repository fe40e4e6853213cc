import { existsSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { useStubMetastores, type StubMetastores } from "../../../test/support/stub-metastores.ts";

let given: StubMetastores;
useStubMetastores((own) => {
  given = own;
});

const NO_PAUSE = { goodForMs: 0, everyMs: 0 };

describe("a metastore", () => {
  test("that dies while a Spark uses it is restarted, with the same port and secret", async () => {
    const metastores = given.open();
    const before = await metastores.contributionOf(given.accountId);
    const dead = given.only();
    await dead.die();
    await expect.poll(() => given.running().length).toBe(1);
    expect(await metastores.contributionOf(given.accountId)).toEqual(before);
    expect(existsSync(dead.folder)).toBe(false);
  });

  test("that does not answer is replaced before it is given to a Spark, with the same port and secret", async () => {
    const metastores = given.open({ probes: NO_PAUSE });
    const before = await metastores.contributionOf(given.accountId);
    expect(await metastores.contributionOf(given.accountId)).toEqual(before);
    const silent = given.only();
    silent.isSilent = true;
    const replies = await Promise.all([1, 2].map(() => metastores.contributionOf(given.accountId)));
    expect(replies).toEqual([before, before]);
    expect(given.only()).not.toBe(silent);
  });

  test("that does not answer is replaced for a running Spark, without a new request", async () => {
    const metastores = given.open({ probes: NO_PAUSE });
    await metastores.contributionOf(given.accountId);
    await metastores.contributionOf(given.accountId);
    const silent = given.only();
    silent.isSilent = true;
    metastores.replaceSilent();
    await expect.poll(() => given.running().filter((each) => each !== silent).length).toBe(1);
    expect(given.only().port).toBe(silent.launch?.port);
    expect(existsSync(silent.folder)).toBe(false);
  });

  test("is not replaced when the probe fails on our side", async () => {
    const metastores = given.open({ probes: NO_PAUSE });
    await metastores.contributionOf(given.accountId);
    await metastores.contributionOf(given.accountId);
    const metastore = given.only();
    metastore.trouble = Object.assign(new Error("too many open files"), { code: "EMFILE" });
    await metastores.contributionOf(given.accountId);
    expect(metastore.asked).toBeGreaterThan(0);
    expect(given.only()).toBe(metastore);
  });

  test("that listens but never becomes ready is replaced, and the next one must become ready first", async () => {
    const metastores = given.open();
    const failing = Promise.withResolvers<void>();
    given.served = failing.promise;
    await metastores.contributionOf(given.accountId);
    const stuck = given.only();
    const serving = Promise.withResolvers<void>();
    given.served = serving.promise;
    failing.reject(new Error("did not become ready in time"));
    await expect.poll(() => given.running().filter((each) => each !== stuck).length).toBe(1);
    expect(stuck.isStopped).toBe(true);
    const ready = metastores.contributionOf(given.accountId).then(() => "ready");
    const queried = given.db.system.query("select 1").then(() => "waits");
    expect(await Promise.race([ready, queried])).toBe("waits");
    serving.resolve();
    expect(await ready).toBe("ready");
  });

  test("that dies before it is ready counts as failed, however long it listened, so the next one must become ready", async () => {
    const metastores = given.open({ steadyMs: 0 });
    given.served = new Promise(() => undefined);
    await metastores.contributionOf(given.accountId);
    const first = given.only();
    expect(first.launch?.firstClientWaitMs).toBeGreaterThan(0);
    await first.die();
    await expect.poll(() => given.running().map(({ launch }) => launch?.firstClientWaitMs)).toEqual([0]);
    const asked = metastores.contributionOf(given.accountId).catch((error: unknown) => error);
    // Ends each one that starts: the request may come too late to wait for the one that has just ended.
    const end = async (): Promise<unknown> => {
      for (const metastore of given.running()) await metastore.die();
      return Promise.race([asked, Promise.resolve("waits")]);
    };
    await expect.poll(end).toMatchObject({ message: expect.stringContaining("it ended before it was ready") });
  });

  test("is not replaced while it becomes ready", async () => {
    const metastores = given.open({ probes: NO_PAUSE });
    const serving = Promise.withResolvers<void>();
    given.served = serving.promise;
    await metastores.contributionOf(given.accountId);
    const slow = given.only();
    slow.isSilent = true;
    await metastores.contributionOf(given.accountId);
    expect(given.only()).toBe(slow);
    serving.resolve();
    await expect.poll(() => metastores.contributionOf(given.accountId).then(() => given.only() === slow)).toBe(false);
  });

  test("that dies unused is restarted only when it is needed, with the same port and secret", async () => {
    const metastores = given.open();
    const before = await metastores.contributionOf(given.accountId);
    given.inUse = false;
    await given.only().die();
    await expect.poll(() => metastores.reservedMiB()).toBe(0);
    expect(given.running()).toEqual([]);
    expect(await metastores.contributionOf(given.accountId)).toEqual(before);
  });
});
