/** The files that version 0.1.0 leaves beside the files of the runner. Each release has to read them. */
import { closeSync, existsSync, mkdirSync, writeFileSync, openSync } from "node:fs";
import { dirname, join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import type { OwnCatalog } from "../src/catalog/metastores/account-catalogs.ts";
import type { Metastores } from "../src/catalog/metastores/metastores.ts";
import { openMetastores } from "../src/catalog/metastores/open-metastores.ts";
import { StandbyDrivers } from "../src/commands/programs/standby-drivers.ts";
import { WarmServers } from "../src/commands/warm-servers/warm-servers.ts";
import { endEverything } from "../src/end-everything.ts";
import { findProcess, type ProcessHandle } from "../src/processes/detached-process/detached-process.ts";
import { UNLIMITED } from "../src/processes/runner/allowance.ts";
import type { Standby } from "../src/processes/runner/protocol.ts";
import { makeStubRuns, type StubRuns } from "../src/processes/runner/stub-run.ts";
import { openSandbox } from "../src/processes/sandbox/sandbox.ts";
import { NOTHING_CONTRIBUTED } from "../src/engines/spark-home/contribution.ts";
import { Secret } from "../src/lib/secret.ts";
import { scriptConnect } from "./support/scripted-connect.ts";
import { stubDriver } from "./support/stub-driver.ts";

const WARM_SERVER = {
  folder: "accounts/1/spark/7-0-b7100a532465545c-a1b2c3",
  files: {
    "place.json":
      '{"version":1,"place":{"accountId":1,"clusterId":7,"appId":null},"digest":"b7100a532465545c","memoryMiB":1472,"generation":0}',
    "server.json": '{"version":1,"token":"7f00","port":41235,"hasSocket":true}',
  },
};
const METASTORE = {
  folder: "accounts/1/metastore/process-1a2b3c4d",
  files: { "metastore.json": '{"version":1,"digest":"1e5f95ed23c37357"}', port: "24680", "../port": "24680" },
};
const STANDBY = { folder: "accounts/1/standby/0011223344556677", files: {} };

const SCOPE = { accountId: 1, clusterId: 7, appId: null };
/** The contribution whose digest is in the records. */
const CONTRIBUTION = { ...NOTHING_CONTRIBUTED, properties: { "spark.sql.shuffle.partitions": "8" } };
const STORAGE = { properties: { "spark.sql.warehouse.dir": "file:///here" } };
const SECRETS = { password: new Secret("0123"), secret: new Secret("4567") };

const lease = { leaseFile: null, leaseSeconds: 60 };
const sandbox = openSandbox("none", { kind: "missing", reason: "" });
const log = pino({ level: "silent" });
const shared = { sandbox, ...lease, orphan: null, log };

let runs: StubRuns;
beforeEach(() => {
  runs = makeStubRuns();
});
afterEach(() => runs.dispose());

const pathTo = (...names: string[]): string => join(runs.base, ...names);

function leaveFiles({ folder, files }: { folder: string; files: Readonly<Record<string, string>> }): void {
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(dirname(pathTo(folder, name)), { recursive: true });
    writeFileSync(pathTo(folder, name), text);
  }
}

/** A program under a real runner. */
async function leaveProcess(folder: string, script = "exec sleep 600", standby?: Standby): Promise<ProcessHandle> {
  const run = runs.open(pathTo(folder));
  const runner = await run.start(script, {}, standby);
  if (standby === undefined) await run.running();
  else await expect.poll(() => run.client.observe()).toMatchObject({ isReady: true });
  return runner;
}

async function leaveWarmServer(): Promise<ProcessHandle> {
  leaveFiles(WARM_SERVER);
  return leaveProcess(`${WARM_SERVER.folder}/run`);
}

async function leaveMetastore(): Promise<ProcessHandle> {
  leaveFiles(METASTORE);
  return leaveProcess(`${METASTORE.folder}/run`);
}

const leaveStandby = (): Promise<ProcessHandle> =>
  leaveProcess(STANDBY.folder, "echo READY; cat; exec sleep 600", { greeting: "READY\n", waitSeconds: 60 });

async function adoptWarmServers(): Promise<WarmServers> {
  const servers = new WarmServers({
    ...shared,
    dataDir: runs.base,
    spark: { current: () => ({ state: "failed", detail: "nothing shall be started" }) },
    contributionsOf: () => Promise.resolve(CONTRIBUTION),
    clusterOf: () => Promise.resolve({}),
  });
  await servers.recover();
  return servers;
}

async function adoptMetastores(): Promise<Metastores> {
  const catalog: OwnCatalog = { kind: "own", secrets: SECRETS, sealed: { password: Buffer.of(), secret: Buffer.of() } };
  const metastores = openMetastores({
    ...shared,
    dataDir: runs.base,
    catalogs: { find: () => Promise.resolve(catalog), renewSecret: () => Promise.resolve(catalog) },
    storageOf: () => Promise.resolve(STORAGE),
    isInUse: () => Promise.resolve(false),
    spark: undefined,
    processors: 4,
    databases: { provide: () => Promise.reject(new Error("nothing shall be started")) },
    identityOf: () => undefined,
    rosterOf: () => pathTo("accounts/1/running"),
    databaseRoster: null,
  });
  await metastores.adopt();
  return metastores;
}

async function expectNothingLeft(runner: ProcessHandle, { folder }: { folder: string }): Promise<void> {
  await expect.poll(() => findProcess(runner)).toBe("gone");
  await expect.poll(() => existsSync(pathTo(folder))).toBe(false);
}

describe("a warm server of an earlier version", () => {
  test("is used by the next command, runs on when this server stops, and ends on demand", async () => {
    const runner = await leaveWarmServer();
    const work = pathTo(WARM_SERVER.folder, "work");
    mkdirSync(work);
    const opened = openSync(work, "r"); // a path through its descriptor is short enough for a socket
    const connect = await scriptConnect([], `unix:/proc/self/fd/${opened}/connect.socket`);
    const first = await adoptWarmServers();
    const { server, release } = await first.acquire(SCOPE);
    await server.ready;
    expect(server.name).toBe("7-0-b7100a532465545c-a1b2c3");
    expect(first.list()).toEqual([{ scope: SCOPE, generation: 0, isUp: true }]);
    expect(first.reservedMiB()).toBe(1472);
    release();
    await first.close();
    expect(await findProcess(runner)).toBe("running");
    const second = await adoptWarmServers();
    expect(second.accounts()).toEqual([1]);
    await second.stop();
    await expectNothingLeft(runner, WARM_SERVER);
    connect.stop();
    closeSync(opened);
  });

  test("is ended when its record was never completed", async () => {
    const runner = await leaveWarmServer();
    writeFileSync(pathTo(WARM_SERVER.folder, "place.json"), '{"version":1,"pl');
    expect((await adoptWarmServers()).list()).toEqual([]);
    await expectNothingLeft(runner, WARM_SERVER);
  });

  test("is removed when its process has ended", async () => {
    leaveFiles(WARM_SERVER);
    expect((await adoptWarmServers()).list()).toEqual([]);
    expect(existsSync(pathTo(WARM_SERVER.folder))).toBe(false);
  });
});

describe("a metastore of an earlier version", () => {
  test("is used by Sparks as before, runs on when this server stops, and ends on demand", async () => {
    const runner = await leaveMetastore();
    const first = await adoptMetastores();
    expect((await first.contributionOf(1)).properties).toMatchObject({
      "spark.hadoop.hive.metastore.uris": "thrift://127.0.0.1:24680",
      "spark.headgate.metastore.secret": "4567",
    });
    expect(first.accounts()).toEqual([1]);
    expect(first.reservedMiB()).toBeGreaterThan(0);
    first.close();
    expect(await findProcess(runner)).toBe("running");
    const second = await adoptMetastores();
    expect(second.accounts()).toEqual([1]);
    await second.stop();
    await expectNothingLeft(runner, METASTORE);
    expect(existsSync(pathTo(METASTORE.folder, "../port"))).toBe(true);
  });

  test("is ended when its record was never completed", async () => {
    const runner = await leaveMetastore();
    writeFileSync(pathTo(METASTORE.folder, "metastore.json"), "");
    expect((await adoptMetastores()).accounts()).toEqual([]);
    await expectNothingLeft(runner, METASTORE);
  });

  test("is removed when its process has ended", async () => {
    leaveFiles(METASTORE);
    expect((await adoptMetastores()).accounts()).toEqual([]);
    expect(existsSync(pathTo(METASTORE.folder))).toBe(false);
  });
});

test("a standby driver of an earlier server is ended", async () => {
  const runner = await leaveStandby();
  const standbys = new StandbyDrivers({
    ...shared,
    dataDir: runs.base,
    driver: stubDriver,
    limits: { ...lease, logLimitBytes: 1, graceSeconds: 1, checkSeconds: 1 },
    allowance: UNLIMITED,
    now: () => 0,
  });
  await standbys.clear();
  expect(standbys.reservedMiB()).toBe(0);
  await expectNothingLeft(runner, STANDBY);
});

test("all of them are ended without a server", async () => {
  const left = [await leaveWarmServer(), await leaveMetastore(), await leaveStandby()];
  const ended = await endEverything({ dataDir: runs.base, databaseUrl: new Secret("postgres://elsewhere") }, log);
  expect(ended).toMatchObject({ warmServers: 1, metastores: 1, standbyDrivers: 1, programs: 0 });
  for (const [index, each] of [WARM_SERVER, METASTORE, STANDBY].entries()) {
    const runner = left[index];
    if (runner !== undefined) await expectNothingLeft(runner, each);
  }
});
