import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, inject, test, vi } from "vitest";
import { findSparkHome } from "../../../test/support/connect-server.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { AccountClient } from "../../../test/support/given.ts";
import { metastoreOf, warmServerOf } from "../../../test/support/java-process.ts";
import { startNode, type NodeProcess } from "../../../test/support/node-process.ts";
import { foundSparkAccount, SPARK_SETTINGS } from "../../../test/support/spark-server.ts";
import { statusOf, submitSql } from "../../../test/support/spark.ts";
import { cloneDatabase } from "../../../test/support/test-database.ts";
import { monotonicMs } from "../../processes/runner/monotonic.ts";
import { newKey, writeKeys } from "../../lib/key-ring.ts";

const ORPHAN_SECONDS = 8;
const PATIENCE = { timeout: 240_000, interval: 250 };
const email = "orphans@example.test";
const sleeping = (seconds: number): string =>
  `select java_method('java.lang.Thread', 'sleep', id + ${seconds * 1000}L) from range(0, 1, 1, 1)`;

describe.skipIf(sparkIsMissing)("after kill -9 of the server", () => {
  test("metastore and warm server stay while a query runs, a restarted server gets its result, and they end when idle", async () => {
    const dataDir = mkdtempSync(join(tmpdir(), "headgate-orphans-"));
    chmodSync(dataDir, 0o711);
    await findSparkHome(inject("postgres").cacheDir);
    const database = await cloneDatabase();
    writeKeys(join(dataDir, "keys"), [newKey([])]);
    const { accountId, token } = await foundSparkAccount(database.connection, email);
    const start = (): Promise<NodeProcess> =>
      startNode(dataDir, database.connection, {
        HEADGATE_CACHE_DIR: inject("postgres").cacheDir,
        TEST_ORPHAN_SECONDS: String(ORPHAN_SECONDS),
        ...SPARK_SETTINGS,
      });
    const clientOf = ({ url }: NodeProcess): AccountClient => new AccountClient(url, token, accountId, email);
    const areAlive = async (): Promise<boolean[]> =>
      Promise.all([metastoreOf(dataDir, accountId), warmServerOf(dataDir, accountId)].map((each) => each.isAlive()));

    const first = await start();
    const { id } = await submitSql(clientOf(first), sleeping(60));
    await vi.waitFor(async () => expect(await statusOf(clientOf(first), id)).toBe("running"), PATIENCE);
    await vi.waitFor(async () => expect(await areAlive()).toEqual([true, true]), PATIENCE);
    await vi.waitFor(async () => expect((await clientOf(first).get(`/commands/${id}`)).pid).not.toBeNull(), PATIENCE);
    await first.crash();
    const until = monotonicMs() + 3 * ORPHAN_SECONDS * 1000;
    await vi.waitFor(() => expect(monotonicMs()).toBeGreaterThan(until), PATIENCE);
    expect(await areAlive()).toEqual([true, true]);

    const second = await start();
    await vi.waitFor(async () => expect(await statusOf(clientOf(second), id)).toBe("done"), PATIENCE);
    await second.crash();
    const metastore = metastoreOf(dataDir, accountId);
    const server = warmServerOf(dataDir, accountId);
    await vi.waitFor(
      async () => expect([await metastore.isAlive(), await server.isAlive()]).toEqual([false, false]),
      PATIENCE,
    );
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });
});
