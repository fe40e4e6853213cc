import { mkdtempSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { renderQuery } from "../../../test/chaos/query-journal.ts";
import { SparkServer } from "../../../test/chaos/spark-server.ts";
import { storeFault } from "../../db/store-fault.ts";
import { writeLease } from "../../processes/runner/lease.ts";
import { monotonicMs } from "../../processes/runner/monotonic.ts";
import { openSandbox } from "../../processes/sandbox/sandbox.ts";
import { NOTHING_CONTRIBUTED, type RemoteSpark } from "../../engines/spark-home/contribution.ts";
import { readBootId } from "../../lib/process-table.ts";
import { commandFiles, type AttemptFiles } from "../execution/command-files.ts";
import type { Executor, LiveRun, CommandRun, RunState } from "../execution/executor.ts";
import { openSql } from "./sql-executor.ts";

const SCOPE = { accountId: 1, clusterId: 2 };
const REMOTE = { host: "localhost", address: "127.0.0.1", port: 1, tls: false, token: undefined };
const storeAwayFault = storeFault(Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" }));

describe("a node without Spark", () => {
  let dataDir: string;
  let files: AttemptFiles;
  let executor: Executor;
  let asked: string[];
  let remote: RemoteSpark | undefined;
  let isStoreAway: boolean;
  let leaseFile: string;

  beforeEach(async () => {
    dataDir = mkdtempSync(join(tmpdir(), "headgate-sql-"));
    files = commandFiles(dataDir, SCOPE.accountId, 3).attempt(1);
    mkdirSync(files.folder, { recursive: true });
    leaseFile = join(dataDir, "lease");
    await renewLease();
    [asked, remote, isStoreAway] = [[], undefined, false];
    ({ executor } = await openSql({
      dataDir,
      spark: undefined,
      contributionsOf: async () => {
        asked.push("everything");
        if (isStoreAway) throw storeAwayFault;
        return { ...NOTHING_CONTRIBUTED, remote };
      },
      clusterOf: () => {
        asked.push("the cluster");
        return Promise.resolve({ remote });
      },
      sandbox: openSandbox("none", { kind: "missing", reason: "" }),
      leaseFile,
      leaseSeconds: 60,
      orphan: null,
      timeoutCheckSeconds: 60,
      logLimitMiB: 1,
      log: pino({ level: "silent" }),
    }));
  });
  afterEach(() => rmSync(dataDir, { recursive: true, force: true }));

  test("learns which clusters are remote servers from the clusters alone", async () => {
    expect(executor.unready(SCOPE)).toContain("Spark cannot be set up");
    remote = REMOTE;
    await expect.poll(() => executor.unready(SCOPE)).toBeNull();
    expect(new Set(asked)).toEqual(new Set(["the cluster"]));
  });

  test("runs a query again that has left no state, if the machine was not restarted", async () => {
    expect(await adopted({ kind: "sql", bootId: await readBootId() })).toEqual({ state: "never-began" });
  });

  test.each([
    ["nothing", undefined],
    ["a file without its bytes", "\0\0\0"],
  ])("never runs a query again that has left %s, if the machine was restarted", async (_, left) => {
    if (left !== undefined) writeFileSync(join(files.folder, "script.json"), left);
    expect(await adopted({ kind: "sql", bootId: "another" })).toMatchObject({ state: "lost" });
  });

  describe("that adopts a query on a remote server while the database is unreachable", () => {
    let live: LiveRun;

    beforeEach(async () => {
      const state = { version: 1, server: "remote-2-0-gone", session: { id: "s" }, statement: 0, operationId: "o" };
      writeFileSync(join(files.folder, "script.json"), JSON.stringify({ ...state, columns: null }));
      isStoreAway = true;
      live = await adopt({ kind: "sql", bootId: await readBootId() });
      await expect.poll(() => asked.length).toBeGreaterThan(1);
      expect(await live.poll()).toMatchObject({ state: "running" });
    });
    afterEach(() => live.stop());

    test("waits for the database and then looks for the server", async () => {
      isStoreAway = false;
      await expect
        .poll(() => live.poll())
        .toMatchObject({ kind: "failed", cause: "the Spark server that ran it is gone" });
    });

    test("gives up when its lease expires", async () => {
      await renewLease(monotonicMs() - 61_000);
      await expect
        .poll(() => live.poll())
        .toMatchObject({ cause: "the node has lost touch with the others and ended it" });
    });

    test("ends at once when it is cancelled", async () => {
      await live.stop();
      expect(await live.poll()).toMatchObject({ state: "ended", kind: "cancelled" });
    });
  });

  describe("that runs a query on a remote server", () => {
    const query = { key: "k", ticks: 1, fails: true };
    let server: SparkServer;

    beforeEach(async () => {
      server = new SparkServer(join(dataDir, "queries"));
      await server.start();
      remote = { ...REMOTE, port: Number(new URL(server.url).port) };
    });
    afterEach(() => server.kill());

    test.each([
      { how: "failed", programText: renderQuery(query), cause: expect.stringContaining("DIVIDE_BY_ZERO") },
      { how: "was cancelled", programText: renderQuery({ ...query, ticks: 600 }), cause: "cancelled" },
    ])(
      "reports after a restart that the query $how, although the Spark server has lost the session",
      async ({ programText, cause }) => {
        const prepared = await executor.prepare({ ...run(), programText }, new AbortController().signal);
        const live = await prepared.spawn();
        await live.begin();
        await expect.poll(() => readFileSync(join(dataDir, "queries"), "utf8")).toContain("start");
        if (cause === "cancelled") await live.stop();
        await expect.poll(() => live.poll()).toMatchObject({ cause });
        expect(readFileSync(files.log, "utf8")).not.toContain("is starting"); // a remote server runs already
        await server.kill();
        await server.start();
        const adopted = await executor.adopt({ ...run(), programText }, live.handle);
        await expect.poll(() => adopted.poll()).toEqual(await live.poll());
      },
    );

    test("ends the query when its lease expires, because another node may run it again", async () => {
      await renewLease();
      const programText = renderQuery({ ...query, ticks: 600 });
      const prepared = await executor.prepare({ ...run(), programText }, new AbortController().signal);
      const live = await prepared.spawn();
      await live.begin();
      await expect.poll(() => readFileSync(join(dataDir, "queries"), "utf8")).toContain("start");
      await renewLease(monotonicMs() - 61_000);
      await expect
        .poll(() => live.poll())
        .toMatchObject({ cause: "the node has lost touch with the others and ended it" });
    });
  });

  async function renewLease(renewedAtMs = monotonicMs()): Promise<void> {
    writeLease(leaseFile, { bootId: await readBootId(), renewedAtMs });
  }

  async function adopted(handle: unknown): Promise<RunState> {
    return (await adopt(handle)).poll();
  }

  async function adopt(handle: unknown): Promise<LiveRun> {
    return executor.adopt(run(), handle);
  }

  function run(): CommandRun {
    const command = { ...SCOPE, id: 3, appId: null, pool: null, kind: "sql", commandType: "SparkCommand", command: {} };
    return {
      command: { ...command, options: null, resolvedMacros: null },
      files,
      programText: "select 1",
      requestId: "r",
      attempt: 1,
      fence: 1,
      timeoutSeconds: 600,
      elapsedSeconds: 0,
    };
  }
});
