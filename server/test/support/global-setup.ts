import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Client, type ClientConfig } from "pg";
import { pino } from "pino";
import type { TestProject } from "vitest/node";
import { lockDataDir } from "../../src/db/embedded/data-dir-lock.ts";
import { startEmbeddedPostgres } from "../../src/db/embedded/embedded-postgres.ts";
import { migrate } from "../../src/db/migrate.ts";
import { ensureBubblewrap } from "../../src/processes/sandbox/find-bubblewrap.ts";
import { findPip, findPython, howToInstallPython } from "../../src/processes/set-up/find-python.ts";
import { findJava } from "../../src/engines/spark-home/find-java.ts";
import { testCacheDir } from "./cache-dir.ts";
import { findSparkHomeWithPackages } from "./connect-server.ts";
import { makeRunFolders } from "./run-folders.ts";
import { serveSpark } from "./spark-server.ts";
import { needsSpark } from "./test-order.ts";
import { serveSeaweedFs } from "../seaweedfs/seaweedfs-server.ts";

/** One real PostgreSQL for the whole run, with a migrated template from which every server gets its database. */
export const TEMPLATE = "headgate_template";

/**
 * These settings save work that tests do not need: only a crash of the whole machine would lose data, nothing is
 * replicated, and no database outlives the run.
 */
const shortLived = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  wal_level: "minimal",
  max_wal_senders: "0",
  autovacuum: "off",
};

export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const folders = makeRunFolders();
  const dataDir = mkdtempSync(join(folders.database, "headgate-test-"));
  chmodSync(dataDir, 0o755);
  const lock = lockDataDir(dataDir);
  const cacheDir = testCacheDir();
  const postgres = await startEmbeddedPostgres({
    lock,
    cacheDir,
    log: pino({ level: "silent" }),
    settings: { max_connections: "200", ...shortLived },
  });
  const connection: ClientConfig = {
    host: postgres.socketDir,
    port: postgres.port,
    user: postgres.user,
    password: postgres.password,
    database: postgres.database,
  };
  const client = new Client(connection);
  await client.connect();
  // With PostgreSQL's 4,096 rounds of hashing, hashing would take a quarter of the time that a test needs to connect.
  await client.query("set scram_iterations = 1");
  await client.query(
    `alter role ${client.escapeIdentifier(postgres.user)} password ${client.escapeLiteral(postgres.password)}`,
  );
  await client.query(`create database ${TEMPLATE}`);
  await client.end();
  await migrate({ ...connection, database: TEMPLATE });
  project.provide("postgres", {
    host: postgres.socketDir,
    port: postgres.port,
    user: postgres.user,
    password: postgres.password,
    cacheDir,
  });
  project.provide("outsideTmp", folders.outsideTmp);
  const seaweedFs = serveSeaweedFs(cacheDir);
  project.provide("seaweedFsSocket", seaweedFs.socket);

  // Fetches bubblewrap before the first test file needs it. If that fails, the tests of isolation are skipped with the
  // reason.
  const end = new AbortController();
  await ensureBubblewrap(undefined, { cacheDir, signal: end.signal, progress: () => undefined });
  // The first set-up takes minutes. Files that need Spark wait for it, and fail if it fails.
  const sparkIsMissing = await isSparkMissing();
  project.provide("sparkIsMissing", sparkIsMissing);
  project.provide("javaIsMissing", (await findJava(undefined)) === undefined);
  const isNeeded = !sparkIsMissing && project.vitest.state.getPaths().some(needsSpark);
  const settingUp = isNeeded ? findSparkHomeWithPackages(cacheDir, end.signal).catch(() => undefined) : undefined;
  const spark = serveSpark({ connection, template: TEMPLATE, cacheDir });
  project.provide("sparkSocket", spark.socket);

  return async () => {
    end.abort();
    await settingUp;
    await spark.stop();
    await seaweedFs.stop();
    await postgres.stop();
    lock.release();
    rmSync(dataDir, { recursive: true, force: true });
    folders.remove();
  };
}

/** Spark needs Python and Java, which pip can fetch. */
async function isSparkMissing(): Promise<boolean> {
  const isMissing =
    (await findPython()) === undefined || ((await findJava(undefined)) ?? (await findPip())) === undefined;
  // eslint-disable-next-line no-console -- skipped tests say why
  if (isMissing) console.warn(`Spark cannot be tested here: ${howToInstallPython()}`);
  return isMissing;
}

declare module "vitest" {
  interface ProvidedContext {
    /** A folder outside /tmp, which programs in a sandbox do not see. */
    outsideTmp: string;
    sparkIsMissing: boolean;
    /** The machine has no Java of its own: Headgate fetches one. */
    javaIsMissing: boolean;
    postgres: { host: string; port: number; user: string; password: string; cacheDir: string };
  }
}
