import { once } from "node:events";
import { existsSync } from "node:fs";
import { chmod, chown, lstat, mkdir, readdir, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { dirname, join } from "node:path";
import { afterAll, afterEach, beforeAll, describe, expect, inject, test } from "vitest";
import { because, NO_ROOT } from "../../../test/skip-reasons/skip-reasons.ts";
import type { EmbeddedPostgres } from "./embedded-postgres.ts";
import { listProcesses, findProcess } from "../../lib/process-table.ts";
import { readPasswords } from "./role-passwords.ts";
import {
  connectAndQuery,
  makeScratchCluster,
  query,
  type ScratchCluster,
} from "../../../test/support/scratch-cluster.ts";
import { useStoppedClusters } from "../../../test/support/use-stopped-clusters.ts";

const isRoot = process.getuid?.() === 0;
const { cacheDir } = inject("postgres");
async function modeOf(path: string): Promise<number> {
  return (await lstat(path)).mode & 0o777;
}

describe("a first start", () => {
  let scratch: ScratchCluster;
  let postgres: EmbeddedPostgres;

  beforeAll(async () => {
    scratch = makeScratchCluster(cacheDir);
    postgres = await scratch.start();
  });
  afterAll(() => scratch.dispose());

  test("creates a durable UTF-8 database that belongs to a role without superuser rights", async () => {
    const [role] = await query(postgres, "SELECT * FROM pg_roles WHERE rolname = current_user");
    expect(role).toMatchObject({ rolname: "headgate", rolsuper: false, rolcreatedb: true, rolcreaterole: true });
    const [database] = await query(
      postgres,
      `SELECT pg_get_userbyid(datdba) AS owner, pg_encoding_to_char(encoding) AS encoding, datlocprovider, datlocale,
         current_setting('data_checksums') AS checksums, current_setting('fsync') AS fsync,
         current_setting('timezone') AS timezone
       FROM pg_database WHERE datname = current_database()`,
    );
    expect(database).toEqual({
      owner: "headgate",
      encoding: "UTF8",
      datlocprovider: "b",
      datlocale: "C.UTF-8",
      checksums: "on",
      fsync: "on",
      timezone: "UTC",
    });
  });

  test("hides its secrets and its socket from other users", async () => {
    const { secrets, logFile, data } = scratch.cluster;
    expect(await modeOf(secrets)).toBe(0o700);
    const file = join(secrets, "passwords.json");
    expect(await modeOf(file)).toBe(0o600);
    expect((await stat(file)).uid).toBe(process.getuid?.());
    expect(await modeOf(logFile)).toBe(0o600);
    expect(await modeOf(data)).toBe(0o700);
    expect(await modeOf(postgres.socketDir)).toBe(0o700);
    const commandLines = (await listProcesses()).map(({ commandLine }) => commandLine).join("\n");
    expect(commandLines).not.toContain(postgres.password);
    expect(await readFile(logFile, "utf8")).not.toContain(postgres.password);
  });

  test("requires a password for every connection, and accepts the superuser only on the socket", async () => {
    const bySocket = { ...postgres, host: postgres.socketDir };
    const byTcp = { ...postgres, host: "127.0.0.1" };
    expect(await connectAndQuery(byTcp, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    const wrong = { password: "wrong" };
    await expect(connectAndQuery({ ...bySocket, ...wrong }, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });
    await expect(connectAndQuery({ ...byTcp, ...wrong }, "SELECT 1")).rejects.toMatchObject({ code: "28P01" });

    const password = (await readPasswords(scratch.cluster.secrets))?.superuser.reveal() ?? "";
    const superuser = { user: "postgres", database: "postgres", password };
    expect(await connectAndQuery({ ...bySocket, ...superuser }, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await expect(connectAndQuery({ ...byTcp, ...superuser }, "SELECT 1")).rejects.toMatchObject({ code: "28000" });
  });

  test("denies access to the app's database to roles of other databases", async () => {
    await query(postgres, "CREATE ROLE metastore LOGIN PASSWORD 'metastore'");
    const stranger = { ...postgres, host: "127.0.0.1", user: "metastore", password: "metastore" };
    await expect(connectAndQuery(stranger, "SELECT 1")).rejects.toMatchObject({ code: "42501" });
  });

  test.skipIf(!isRoot)(
    "runs the server as the user nobody in its own session if Headgate is root",
    because(NO_ROOT),
    async () => {
      const pid = (await scratch.postmasterPid()) ?? 0;
      const nobody = scratch.cluster.user?.uid;
      expect(nobody).toBeGreaterThan(0);
      expect((await findProcess(pid))?.uid).toBe(nobody);
      const status = await readFile(`/proc/${pid}/stat`, "utf8");
      expect(status.slice(status.lastIndexOf(")")).split(" ")[4]).toBe(String(pid));
      expect(await readFile(`/proc/${pid}/status`, "utf8")).toMatch(/^Groups:\s*$/m);
    },
  );
});

/** Kills a first start in the middle, unless it has finished by then. */
async function isCutHalfWay(scratch: ScratchCluster): Promise<boolean> {
  const { folder, data } = scratch.cluster;
  const child = scratch.startElsewhere();
  const hasBegun = async (): Promise<boolean> =>
    (await readdir(folder).catch(() => [])).some((name) => name === "data" || name.startsWith("data.partial-"));
  await expect.poll(hasBegun, { interval: 5 }).toBe(true);
  child.kill("SIGKILL");
  await once(child, "close");
  return !existsSync(data);
}

describe("a start without a usable cluster", () => {
  let scratch: ScratchCluster;
  afterEach(() => scratch.dispose());

  test("repeats a first start that was interrupted", async () => {
    scratch = makeScratchCluster(cacheDir);
    while (!(await isCutHalfWay(scratch))) {
      await scratch.dispose(); // the signal came too late
      scratch = makeScratchCluster(cacheDir);
    }

    expect(await query(await scratch.start(), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
  });

  test("refuses a cluster of another major version and says how to migrate", async () => {
    scratch = makeScratchCluster(cacheDir);
    await mkdir(scratch.cluster.data, { recursive: true });
    for (const path of [scratch.dataDir, scratch.cluster.folder]) await chmod(path, 0o755);
    await writeFile(join(scratch.cluster.data, "PG_VERSION"), "17\n");
    await expect(scratch.start()).rejects.toThrow(/PostgreSQL 17.*has 18.*admin -- export.*admin -- import/);
  });
});

describe("a later start", () => {
  let scratch: ScratchCluster;
  useStoppedClusters(cacheDir, (own) => {
    scratch = own;
  });

  test("keeps data, port and password", async () => {
    const first = await scratch.start();
    await query(first, "CREATE TABLE kept AS SELECT 42 AS answer");
    await scratch.stop();
    expect(first.healthy).toBe(false);
    const second = await scratch.start();
    expect(await query(second, "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
    expect([second.port, second.password]).toEqual([first.port, first.password]);
  });

  test("takes another port if its own is taken, and keeps that one", async () => {
    const { port } = await scratch.start();
    await scratch.stop();
    const squatter = createServer().listen({ host: "127.0.0.1", port });
    await once(squatter, "listening");
    const second = await scratch.start();
    expect(second.port).not.toBe(port);
    await scratch.stop();
    squatter.close();
    expect((await scratch.start()).port).toBe(second.port);
  });

  test("sets new passwords if the stored ones are lost", async () => {
    await query(await scratch.start(), "CREATE TABLE kept AS SELECT 42 AS answer");
    await scratch.stop();
    await rm(scratch.cluster.secrets, { recursive: true });
    expect(await query(await scratch.start(), "SELECT answer FROM kept")).toEqual([{ answer: 42 }]);
  });

  test("reports the log file and the reason if the server does not start", async () => {
    await expect(scratch.start({ shared_buffers: "nonsense" })).rejects.toThrow(/server\.log\)[^]*shared_buffers/);
  });
});

describe("a data directory whose path is too long for a Unix socket", () => {
  let scratch: ScratchCluster;
  afterEach(() => scratch.dispose());

  test("has its socket in a private temporary folder, which is reused while it stays private", async () => {
    scratch = makeScratchCluster(cacheDir, "a-long-name-".repeat(8));
    const first = await scratch.start();
    expect(first.socketDir.startsWith(scratch.dataDir)).toBe(false);
    expect(await modeOf(first.socketDir)).toBe(0o700);
    expect(await query(first, "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    await scratch.stop();
    expect((await scratch.start()).socketDir).toBe(first.socketDir);
    await scratch.stop();

    await chmod(first.socketDir, 0o777);
    const third = await scratch.start();
    expect(third.socketDir).not.toBe(first.socketDir);
    await scratch.stop();
    for (const path of [first.socketDir, third.socketDir]) await rm(path, { recursive: true });
  });
});

describe.skipIf(!isRoot)("as root", because(NO_ROOT), () => {
  let scratch: ScratchCluster;
  afterEach(() => scratch.dispose());

  test("a folder that the user nobody cannot enter is reported, with what to do", async () => {
    scratch = makeScratchCluster(cacheDir, "closed");
    const closed = dirname(scratch.dataDir);
    await mkdir(closed, { mode: 0o700 });
    await expect(scratch.start()).rejects.toThrow(
      `cannot enter ${closed}: point HEADGATE_DATA_DIR somewhere else, or run chmod o+x ${closed}`,
    );
  });

  test("a cluster of another user is not touched", async () => {
    scratch = makeScratchCluster(cacheDir);
    await mkdir(scratch.cluster.folder, { recursive: true });
    await chown(scratch.cluster.folder, 12345, 12345);
    await expect(scratch.start()).rejects.toThrow("belongs to the user with uid 12345");
  });

  test("the server can reach a new data directory with any umask", async () => {
    scratch = makeScratchCluster(cacheDir, "new");
    const before = process.umask(0o077);
    try {
      expect(await query(await scratch.start(), "SELECT 1 AS one")).toEqual([{ one: 1 }]);
    } finally {
      process.umask(before);
    }
  });
});
