import { once } from "node:events";
import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { pino } from "pino";
import { afterAll, beforeAll, describe, expect, test, vi } from "vitest";
import { adminHere } from "../test/support/admin-cli.ts";
import {
  operatorClient,
  spawnHeadgate,
  startHeadgate,
  temporaryDataDir,
  type HeadgateProcess,
} from "../test/support/headgate-process.ts";
import { repositoryDir } from "../test/support/repository-dir.ts";
import { readConfig } from "./config.ts";
import { listProcesses } from "./lib/process-table.ts";
import { start } from "./start.ts";

/**
 * One installation, started several times: one start is stopped early, one fails, one succeeds, and one finds its port
 * taken. A start takes longer than most of the checks.
 */
let dataDir = temporaryDataDir();
afterAll(() => dataDir.remove());

async function isDatabaseRunning(): Promise<boolean> {
  return (await listProcesses()).some(({ commandLine }) => commandLine.includes(`-D ${dataDir.path}/postgres/data `));
}

interface Output {
  stdout: string;
  stderr: string;
}

/** Runs a start that fails or that `meanwhile` stops, and returns its output. */
async function outputOf(
  settings: Record<string, string>,
  expectedCode: number,
  meanwhile: (stop: () => void) => Promise<void> = () => Promise.resolve(),
): Promise<Output> {
  const child = spawnHeadgate(["start"], settings);
  if (child.stdout === null || child.stderr === null) throw new Error("Headgate has no output");
  const ended = Promise.all([text(child.stdout), text(child.stderr), once(child, "exit")]);
  await meanwhile(() => child.kill("SIGTERM"));
  const [stdout, stderr, exit] = await ended;
  expect(exit).toEqual([expectedCode, null]);
  expect(await isDatabaseRunning()).toBe(false);
  return { stdout, stderr };
}

describe("a first start", () => {
  test("fails if the port is taken, says what to do and creates nothing", async () => {
    const other = createServer();
    await once(other.listen(0, "127.0.0.1"), "listening");
    const { port } = other.address() as AddressInfo; // it listens on TCP
    const settings = { HEADGATE_DATA_DIR: join(dataDir.path, "new"), HEADGATE_PORT: String(port) };
    const { stdout, stderr } = await outputOf(settings, 1);
    other.close();
    expect(stderr).toContain(
      `cannot listen on 127.0.0.1:${port}: another program uses this port (HEADGATE_PORT). Stop it, or set another`,
    );
    expect(stderr).not.toContain("stop --all"); // no process of this data directory can have the port
    expect(stdout).toBe("");
    expect(existsSync(settings.HEADGATE_DATA_DIR)).toBe(false);
  });

  test("ends everything that it started if it is stopped early; the next one prints the token, even if it fails after that", async () => {
    const settings = (): Record<string, string> => ({ HEADGATE_DATA_DIR: dataDir.path, HEADGATE_PORT: "0" });
    let early: Output | undefined;
    while (early === undefined || early.stdout.includes("First run")) {
      // Try again if the signal came too late: a first run that has printed its token is complete.
      dataDir.remove();
      dataDir = temporaryDataDir();
      const postmaster = join(dataDir.path, "postgres/data/postmaster.pid");
      early = await outputOf(settings(), 0, async (stop) => {
        await vi.waitFor(() => expect(existsSync(postmaster)).toBe(true), { timeout: 45_000, interval: 20 });
        expect(await isDatabaseRunning()).toBe(true);
        stop();
      });
    }

    const proxySocket = join(dataDir.path, "no-folder/proxy.sock");
    const { stdout, stderr } = await outputOf({ ...settings(), HEADGATE_PROXY_SOCKET: proxySocket }, 1);
    expect(stderr).toMatch(/no-folder does not exist/);
    expect((early.stderr + stderr).match(/"[^"]*migration[^"]*"/g)).toEqual(['"migrations applied"']);
    const token = readFileSync(join(dataDir.path, "admin-token"), "utf8").trim();
    expect(stdout).toMatch(/^First run: the operator is admin@localhost, the token hg_/m);
    expect(stdout).toContain(token);
    for (const name of ["admin-token", "keys"]) expect(statSync(join(dataDir.path, name)).mode & 0o777).toBe(0o600);
  });
});

describe("a later start", () => {
  const secret = "correct horse battery";
  const settings = {
    HEADGATE_LOG_LIMIT: "2048m",
    HEADGATE_RUN_DISK: "0",
    HEADGATE_PASSPHRASE: secret,
    HEADGATE_LOG_LEVL: "debug", // a typo
  };
  let headgate: HeadgateProcess;
  beforeAll(async () => {
    headgate = await startHeadgate(dataDir.path, settings);
  });
  afterAll(() => headgate.stop());

  const admin = (...args: string[]) =>
    adminHere({ HEADGATE_DATA_DIR: dataDir.path, HEADGATE_LOG_LIMIT: "7m", HEADGATE_PORT: "9" }).finish(...args);
  const runningServer = (): string => join(dataDir.path, "running-server.json");

  test("accepts the token of the first one, and does not print it", async () => {
    await operatorClient(headgate, dataDir.path).get("/account");
    expect(headgate.stdout()).not.toContain(readFileSync(join(dataDir.path, "admin-token"), "utf8").trim());
  });

  test("has the settings that admin settings and admin status show, whatever the environment of their shell is", async () => {
    const { url, pid } = headgate;
    const [json, status, { stdout, stderr }] = await Promise.all([
      admin("settings", "--json"),
      admin("status", "--json"),
      admin("settings"),
    ]);
    const rows = JSON.parse(json.stdout) as Row[]; // checked below
    expect(JSON.parse(status.stdout)).toMatchObject({ server: "running", pid, address: url });
    expect(stderr).toBe(`These are the settings of the running server (pid ${pid}, ${url}).\n`);
    expect(rows).toContainEqual({ name: "HEADGATE_LOG_LIMIT", value: "2g", default: "100m" });
    expect(rows).toContainEqual({ name: "HEADGATE_RUN_DISK", value: "0", default: "50%" });
    expect(rows).toContainEqual({ name: "HEADGATE_PASSPHRASE", value: "********", default: expect.any(String) });
    // Those that are not set have the text of their default, unless the default depends on something else.
    const given = ["HEADGATE_PORT", ...Object.keys(settings)];
    const others = rows.filter((row) => row.value !== null && row.value !== row.default && !given.includes(row.name));
    expect(others.map((row) => row.name)).toEqual([
      "HEADGATE_DATA_DIR",
      "HEADGATE_CACHE_DIR",
      "HEADGATE_KEY_FILE",
      "HEADGATE_ALLOWED_NETWORKS",
    ]);
    expect(statSync(runningServer()).mode & 0o777).toBe(0o600);
    expect(readFileSync(runningServer(), "utf8") + stdout).not.toContain(secret);
  });

  test("logs JSON lines if stderr is not a terminal, including those of commands", async () => {
    const refresh = { template: "s3import", db_name: "default", hive_table: "orders", name: "nightly" };
    await operatorClient(headgate, dataDir.path).post("/commands", refresh);
    await vi.waitFor(() => expect(headgate.stderr()).toContain('"command ended"'), { timeout: 45_000 });
    const records = headgate
      .stderr()
      .trim()
      .split("\n")
      .filter((line) => !line.startsWith("Warning: Ignoring extra certs")) // printed by Node itself
      .map((line): unknown => JSON.parse(line));
    const run = { accountId: 1, email: "admin@localhost", type: "HiveCommand", name: "nightly", attempt: 1 };
    expect(records).toContainEqual(expect.objectContaining({ ...run, msg: "command started" }));
    expect(records).toContainEqual(
      expect.objectContaining({ ...run, msg: "command ended", status: "error", seconds: expect.any(Number) }),
    );
    expect(records).toContainEqual(
      expect.objectContaining({ method: "POST", path: "/api/v1.2/commands", status: 200 }),
    );
    const msg = "the variable HEADGATE_LOG_LEVL is not a setting and has no effect; did you mean HEADGATE_LOG_LEVEL?";
    expect(records, "an unknown variable causes a warning").toContainEqual(expect.objectContaining({ level: 40, msg }));
  });

  test("waits for a hanging client when it is stopped, until a second signal", async () => {
    const { hostname, port } = new URL(headgate.url);
    const client = connect(Number(port), hostname);
    client.on("error", () => undefined);
    await once(client, "connect");
    client.write("POST /api/v2/invitations/accept HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
    await expect.poll(async () => (await fetch(`${headgate.url}/healthz`)).status).toBe(200);
    const { pid } = headgate;
    let code: number | null | undefined;
    const stopped = headgate.stop().then((exitCode) => (code = exitCode));
    // Repeated at once it would count as the same signal, forwarded by npm; a drain alone takes 20 seconds.
    const hasEnded = (): boolean => {
      if (code === undefined) process.kill(pid, "SIGTERM");
      return code !== undefined;
    };
    await vi.waitUntil(hasEnded, { timeout: 45_000, interval: 200 });
    expect(await stopped).toBe(0);
    expect(await isDatabaseRunning()).toBe(false);
  });

  test("leaves nothing that admin settings could mistake for a running server", async () => {
    await headgate.stop();
    const { stdout, stderr } = await admin("settings");
    expect(stderr).toBe(
      `No server runs on ${dataDir.path}. These are the settings that a start from this shell would use.\n`,
    );
    expect(stdout).toMatch(/^HEADGATE_LOG_LIMIT +7m +100m$/m);
    expect(existsSync(runningServer())).toBe(false);
  });

  test("fails if the port is taken, and names the command that ends the port holder left by an earlier start", async () => {
    const other = createServer();
    await once(other.listen(0, "127.0.0.1"), "listening");
    const { port } = other.address() as AddressInfo; // it listens on TCP
    writeFileSync(join(dataDir.path, "port-holder.sock"), ""); // left by an earlier start
    const { HEADGATE_CACHE_DIR } = process.env;
    const config = readConfig(
      { HEADGATE_CACHE_DIR, HEADGATE_DATA_DIR: dataDir.path, HEADGATE_PORT: String(port) },
      { repositoryDir, isRoot: process.getuid?.() === 0, readFile: (path) => readFileSync(path, "utf8") },
    );
    const never = new AbortController().signal;
    const signals = { stop: never, hurry: never, everything: never };
    await expect(start(config, pino({ level: "silent" }), () => undefined, signals, {})).rejects.toThrow(
      /another program uses this port .* run `npm run admin -- stop --all` first\./,
    );
    other.close();
    expect(await isDatabaseRunning()).toBe(false);
  });
});

test("an unknown HEADGATE_ variable in the settings file is an error", async () => {
  const file = join(dataDir.path, "settings");
  writeFileSync(file, "HEADGATE_LOG_LEVL=debug\n");
  await expect(startHeadgate(dataDir.path, { HEADGATE_CONFIG: file })).rejects.toThrow(
    `HEADGATE_LOG_LEVL in ${file} is not a setting; did you mean HEADGATE_LOG_LEVEL?`,
  );
});

interface Row {
  name: string;
  value: string | null;
  default: string;
}
