import { randomUUID } from "node:crypto";
import { afterAll, beforeAll, describe, expect, inject, it } from "vitest";
import {
  findSparkHome,
  SET_UP_MS,
  startConnectServer,
  type TestConnectServer,
} from "../../../test/support/connect-server.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { Secret } from "../../lib/secret.ts";
import { openConnect, type ConnectChannel } from "./spark-connect.ts";

const MIB = 1024 * 1024;

// Skipped on machines without Java or Python.
describe.skipIf(sparkIsMissing)("a large result", () => {
  let server: TestConnectServer;
  let channel: ConnectChannel;

  beforeAll(async () => {
    const home = await findSparkHome(inject("postgres").cacheDir);
    server = await startConnectServer(home, {
      properties: {
        "spark.connect.extensions.command.classes": "org.apache.spark.sql.connect.headgate.StoredResults",
      },
      memoryMiB: 1024,
    });
    const { host, port, token } = server;
    channel = openConnect({ host, port, token: new Secret(token), sessionUser: "tester", storedResults: true });
  }, SET_UP_MS);
  afterAll(async () => {
    channel.close();
    await server.stop();
  });

  it("that is larger than the server's heap accumulates neither in our memory nor in the server's", async () => {
    const rows = 12_000_000;
    const sql = `SELECT id, repeat('x', 100) AS s FROM range(0, ${rows}, 1, 2)`;
    const { rss } = process.memoryUsage();
    let [seen, bytes, highest] = [0, 0, 0];
    const execution = channel.session().execute(sql, { operationId: randomUUID() });
    for await (const event of execution) {
      if (event.kind !== "batch") continue;
      expect(event.startRow).toBe(seen);
      bytes += event.data.length;
      if (event.part < event.parts - 1) continue;
      seen += event.rowCount;
      execution.release(event.position);
      highest = Math.max(highest, process.memoryUsage().rss);
    }
    expect(seen).toBe(rows);
    expect(bytes).toBeGreaterThan(1200 * MIB);
    expect(highest - rss).toBeLessThan(150 * MIB);
  });

  it("with a row larger than any message arrives in parts", async () => {
    const sizes: number[] = [];
    for await (const event of channel
      .session()
      .execute("SELECT repeat('x', 60000000) AS s", { operationId: randomUUID() })) {
      if (event.kind !== "batch") continue;
      expect(event).toMatchObject({ rowCount: 1, startRow: 0, part: sizes.length });
      sizes.push(event.data.length);
    }
    expect(Math.max(...sizes)).toBeLessThanOrEqual(2 * MIB);
    expect(sizes.reduce((sum, size) => sum + size, 0)).toBeGreaterThan(60_000_000);
  });
});
