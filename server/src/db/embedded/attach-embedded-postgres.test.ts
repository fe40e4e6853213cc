import { pino } from "pino";
import { afterEach, expect, inject, test } from "vitest";
import { attachEmbeddedPostgres } from "./attach-embedded-postgres.ts";
import { lockDataDir } from "./data-dir-lock.ts";
import { makeScratchCluster, query, type ScratchCluster } from "../../../test/support/scratch-cluster.ts";

const { cacheDir } = inject("postgres");
const log = pino({ level: "silent" });
let scratch: ScratchCluster;

afterEach(() => scratch.dispose());

test("the server of a running Headgate is used, and left running", async () => {
  scratch = makeScratchCluster(cacheDir);
  const running = await scratch.start();
  const attached = await attachEmbeddedPostgres({ dataDir: scratch.dataDir, cacheDir, log });
  expect([attached.port, attached.socketDir]).toEqual([running.port, running.socketDir]);
  expect(await query(attached, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  await attached.stop();
  expect(await query(running, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
});

test("without a running Headgate the server is started, locked for others, and stopped", async () => {
  scratch = makeScratchCluster(cacheDir);
  const attached = await attachEmbeddedPostgres({ dataDir: scratch.dataDir, cacheDir, log });
  expect(await query(attached, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  expect(() => lockDataDir(scratch.dataDir)).toThrow("another Headgate");
  await attached.stop();
  expect(await scratch.postmasterPid()).toBeUndefined();
  lockDataDir(scratch.dataDir).release();
});
