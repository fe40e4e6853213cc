import { once } from "node:events";
import { cpSync } from "node:fs";
import { createServer } from "node:net";
import { pino } from "pino";
import { describe, expect, test } from "vitest";
import { useStubMetastores, type StubMetastores } from "../../../test/support/stub-metastores.ts";

let given: StubMetastores;
useStubMetastores((own) => {
  given = own;
});

const NO_PAUSE = { goodForMs: 0, everyMs: 0 };

describe("a metastore that a previous server left running", () => {
  test("is replaced for a running Spark if it does not answer, without waiting for a command", async () => {
    await given.open().contributionOf(given.accountId);
    const silent = given.only();
    silent.isSilent = true;
    const next = given.reopen({ probes: NO_PAUSE });
    await next.adopt();
    await expect
      .poll(() => {
        next.replaceSilent();
        return given.running().filter((each) => each !== silent).length;
      })
      .toBe(1);
    expect(given.only().port).toBe(silent.launch?.port);
  });

  test("is adopted by the next server, without starting another", async () => {
    const before = await given.open().contributionOf(given.accountId);
    const found = given.only();
    const next = given.reopen();
    await next.adopt();
    expect(await next.contributionOf(given.accountId)).toEqual(before);
    expect(given.only()).toBe(found);
    await found.die();
    await expect.poll(() => given.running().length).toBe(1);
    expect(await next.contributionOf(given.accountId)).toEqual(before);
  });

  test("is restarted with the same port and secret if it ended before the server started", async () => {
    const before = await given.open().contributionOf(given.accountId);
    given.close();
    await given.only().die();
    given.inUse = false;
    const next = given.open();
    await next.adopt();
    expect(next.reservedMiB()).toBe(0);
    expect(await next.contributionOf(given.accountId)).toEqual(before);
  });

  test("is restarted for Sparks that have outlived it", async () => {
    await given.open().contributionOf(given.accountId);
    given.close();
    const { port } = given.only();
    await given.only().die();
    const next = given.open();
    await next.adopt();
    next.reviveLost();
    await expect.poll(() => given.running().map((each) => each.port)).toEqual([port]);
  });

  test("is ended if it never becomes ready, and restarted for running Sparks", async () => {
    await given.open().contributionOf(given.accountId);
    const stuck = given.only();
    const { port } = stuck;
    const failing = Promise.withResolvers<void>();
    given.served = failing.promise;
    const next = given.reopen();
    await next.adopt();
    given.served = Promise.resolve();
    failing.reject(new Error("did not become ready in time"));
    await expect.poll(() => next.reservedMiB()).toBe(0);
    expect(stuck.isStopped).toBe(true);
    next.reviveLost();
    await expect.poll(() => given.running().map((each) => each.port)).toEqual([port]);
  });

  test("is replaced, with a new secret, if another process had taken its port while it started", async () => {
    const foreign = createServer();
    given.beforeListening = async (port) => {
      given.beforeListening = () => Promise.resolve();
      await once(foreign.listen(port, "127.0.0.1"), "listening");
    };
    given.served = new Promise(() => undefined);
    const before = await given.open().contributionOf(given.accountId);
    const misplaced = given.only();
    await once(foreign.close(), "close");
    given.served = Promise.resolve();
    const lines: string[] = [];
    const next = given.reopen({ log: pino({}, { write: (line) => void lines.push(line) }) });
    const { port, launch } = misplaced;
    await next.adopt();
    await expect.poll(() => next.reservedMiB()).toBe(0);
    expect(misplaced.isStopped).toBe(true);
    expect(lines.join("")).toContain(`listens on port ${port}, because another process has taken port ${launch?.port}`);
    next.reviveLost();
    await expect.poll(() => given.running().length).toBe(1);
    const after = await next.contributionOf(given.accountId);
    const secret = "spark.headgate.metastore.secret";
    expect(after.properties[secret]).not.toBe(before.properties[secret]);
  });

  test("is adopted once if a crash left two, and the other one is ended", async () => {
    await given.open().contributionOf(given.accountId);
    given.close();
    const kept = given.only();
    const folder = kept.folder.replace(/process-.*/, "process-zz");
    const second = given.processOf(folder);
    cpSync(kept.folder, folder, { recursive: true });
    const next = given.open();
    await next.adopt();
    expect(second.isStopped).toBe(true);
    expect(given.only()).toBe(kept);
  });
});
