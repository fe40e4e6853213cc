import { randomUUID } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { findSparkHome, SET_UP_MS, startConnectServer, type TestConnectServer } from "./support/connect-server.ts";
import { sparkIsMissing } from "./support/spark-missing.ts";
import { Secret } from "../src/lib/secret.ts";
import { openConnect, type ConnectChannel } from "../src/engines/spark-connect/spark-connect.ts";
import { poolsProperty, renderPools } from "../src/engines/connect-server/fair-pools.ts";

/** Tasks that sleep for 50 ms. */
const TASKS = 1000;
const SLEEPY =
  "SELECT count(slept) FROM (SELECT java_method('java.lang.Thread', 'sleep', 50L) AS slept " +
  `FROM range(0, ${TASKS}, 1, ${TASKS}))`;

describe.skipIf(sparkIsMissing)("pools of a warm server with eight slots", () => {
  const folder = mkdtempSync(join(tmpdir(), "headgate-pools-"));
  let server: TestConnectServer;
  let channel: ConnectChannel;

  beforeAll(async () => {
    const file = join(folder, "pools.xml");
    writeFileSync(
      file,
      renderPools(poolsProperty({ heavy: { weight: 3, minShare: 0 }, light: { weight: 1, minShare: 0 } })),
    );
    server = await startConnectServer(await findSparkHome(inject("postgres").cacheDir), {
      properties: {
        "spark.master": "local[8]",
        "spark.scheduler.mode": "FAIR",
        "spark.scheduler.allocation.file": pathToFileURL(file).href,
        "spark.connect.grpc.interceptor.classes": "headgate.connect.PoolInterceptor",
      },
    });
    const { host, port, token } = server;
    channel = openConnect({ host, port, token: new Secret(token), sessionUser: "tester" });
  }, SET_UP_MS);
  afterAll(async () => {
    channel.close();
    await server.stop();
    rmSync(folder, { recursive: true });
  });

  test("share the slots by weight", async () => {
    const stopping = new AbortController();
    const done = { heavy: 0, light: 0 };
    const run = async (pool: "heavy" | "light"): Promise<void> => {
      const session = channel.session();
      await session.setConfig({ "spark.connect.progress.reportInterval": "100ms" });
      const headers = { "headgate-pool-bin": pool };
      for await (const event of session.execute(SLEEPY, {
        operationId: randomUUID(),
        headers,
        signal: stopping.signal,
      })) {
        if (event.kind !== "progress") continue;
        done[pool] = event.work.completedTasks;
        if (done.heavy > TASKS / 2) stopping.abort();
      }
    };
    const ends = await Promise.allSettled([run("heavy"), run("light")]);
    expect(ends).toMatchObject(ends.map(() => ({ status: "rejected", reason: { name: "AbortError" } })));
    expect(done.light).toBeGreaterThan(0);
    expect(done.heavy / done.light).toBeGreaterThan(2);
    expect(done.heavy / done.light).toBeLessThan(4);
  });
});
