import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { scriptConnect, type ScriptedConnect } from "../../../test/support/scripted-connect.ts";
import type { ConnectAddress } from "../../engines/connect-server/connect-server.ts";
import { openSandbox } from "../../processes/sandbox/sandbox.ts";
import { contributionDigest, NOTHING_CONTRIBUTED } from "../../engines/spark-home/contribution.ts";
import type { ServerProcess } from "./server-processes.ts";
import { serverFolders } from "./server-record.ts";
import { WarmServers } from "./warm-servers.ts";

const SCOPE = { accountId: 1, clusterId: 2, appId: null };
const NAME = "one-of-before";
const UP = { scope: SCOPE, generation: 0, isUp: true };

/** A stub of the JVM: it lives until it is stopped, whether or not its port answers. */
class LivingProcess implements ServerProcess {
  readonly #address: ConnectAddress;
  readonly #ended = Promise.withResolvers<void>();
  isStopped = false;
  hasDied = false;

  constructor(port: number) {
    this.#address = { host: "127.0.0.1", port, tls: false, token: undefined };
  }

  start = (): Promise<void> => Promise.reject(new Error("a leftover server is not started"));
  ready = (): Promise<ConnectAddress> => Promise.resolve(this.#address);
  isAlive = (): Promise<boolean> => Promise.resolve(!this.hasDied);
  ended = (): Promise<void> => this.#ended.promise;
  pid = (): Promise<null> => Promise.resolve(null);
  stop = (): Promise<void> => {
    this.isStopped = true;
    this.#ended.resolve();
    return Promise.resolve();
  };
}

describe("a warm server that lives", () => {
  let dataDir: string;
  let connect: ScriptedConnect;
  let process: LivingProcess;
  let servers: WarmServers | undefined;
  let logged: string[];

  beforeEach(async () => {
    logged = [];
    dataDir = mkdtempSync(join(tmpdir(), "headgate-warm-"));
    const digest = contributionDigest(NOTHING_CONTRIBUTED);
    serverFolders(dataDir).make(SCOPE.accountId, NAME, { version: 1, place: SCOPE, digest, memoryMiB: 500 });
    connect = await scriptConnect([]);
    process = new LivingProcess(connect.port);
  });
  afterEach(async () => {
    await servers?.close();
    connect.stop();
    rmSync(dataDir, { recursive: true });
  });

  async function adopted(everyMs: number): Promise<WarmServers> {
    servers = new WarmServers({
      dataDir,
      spark: { current: () => ({ state: "failed", detail: "not needed" }) },
      contributionsOf: () => Promise.resolve(NOTHING_CONTRIBUTED),
      clusterOf: () => Promise.resolve({}),
      sandbox: openSandbox("none", { kind: "missing", reason: "" }),
      leaseFile: null,
      leaseSeconds: 60,
      orphan: null,
      log: pino({ base: null }, { write: (line: string) => void logged.push(line) }),
      openProcess: () => process,
      probes: { goodForMs: 0, everyMs },
    });
    await servers.recover();
    return servers;
  }

  test("is ended when it is in use and does not answer", async () => {
    const found = await adopted(0);
    const { server } = (await found.reacquire(NAME, SCOPE)) ?? {};
    await server?.ready;
    found.endSilent();
    expect(await server?.isSilent()).toBe(false);
    expect(process.isStopped).toBe(false);
    connect.stop();
    found.endSilent();
    await expect.poll(() => process.isStopped).toBe(true);
    expect(await found.reacquire(NAME, SCOPE)).toBeUndefined();
    // Operators filter the log by this field.
    expect(JSON.parse(logged.at(-1) ?? "{}")).toMatchObject({ place: SCOPE });
  });

  test("is not ended while it is unused", async () => {
    const found = await adopted(0);
    await expect.poll(() => found.list()).toEqual([UP]);
    connect.stop();
    found.endSilent();
    const { server } = (await found.reacquire(NAME, SCOPE)) ?? {};
    expect(await server?.isSilent()).toBe(true);
    expect(found.list()).toEqual([UP]);
    expect(process.isStopped).toBe(false);
  });

  test("is probed until this server leaves it, and then goes on", async () => {
    const found = await adopted(60_000);
    const { server } = (await found.reacquire(NAME, SCOPE)) ?? {};
    await server?.ready;
    connect.stop();
    found.endSilent();
    const looking = server?.isSilent();
    await found.close();
    expect(await looking).toBe(false);
    expect(process.isStopped).toBe(false);
  });

  test("is used for the next command only while it answers", async () => {
    const found = await adopted(0);
    await expect.poll(() => found.list()).toEqual([UP]);
    process.hasDied = true;
    await expect(found.acquire(SCOPE)).rejects.toThrow("Spark is not set up"); // it would start another
    await expect.poll(() => process.isStopped).toBe(true);
  });

  test("and is left over from the previous server has as much time to answer as one that was up", async () => {
    connect.stop();
    const found = await adopted(20);
    const beganAt = performance.now();
    const { server } = (await found.reacquire(NAME, SCOPE)) ?? {};
    await expect(server?.ready).rejects.toThrow("does not answer");
    expect(performance.now() - beganAt).toBeGreaterThan(200);
    await expect.poll(() => process.isStopped).toBe(true);
  });
});
