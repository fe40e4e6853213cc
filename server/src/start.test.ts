import { once } from "node:events";
import { existsSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
import { adminCli } from "../test/support/admin-cli.ts";
import {
  operatorClient,
  spawnHeadgate,
  startHeadgate,
  temporaryDataDir,
  type HeadgateProcess,
} from "../test/support/headgate-process.ts";
import { listProcesses } from "./lib/process-table.ts";

/** A test that is not about a first start goes on with the installation of the one before it. */
let dataDir = temporaryDataDir();
let headgate: HeadgateProcess | undefined;

afterEach(async () => {
  await headgate?.stop();
  headgate = undefined;
});
afterAll(() => dataDir.remove());

function renewDataDir(): void {
  dataDir.remove();
  dataDir = temporaryDataDir();
}

async function isDatabaseRunning(): Promise<boolean> {
  return (await listProcesses()).some(({ commandLine }) => commandLine.includes(`-D ${dataDir.path}/postgres/data `));
}

describe("a stop", () => {
  test("before the server is ready stops everything that was started, and the next start is a first one", async () => {
    for (let said = "First run"; said.includes("First run");) {
      // Try again if the signal came too late: a first run that has printed its token is complete.
      renewDataDir();
      const child = spawnHeadgate(["start"], { HEADGATE_DATA_DIR: dataDir.path, HEADGATE_PORT: "0" });
      if (child.stdout === null) throw new Error("Headgate has no output");
      const [exited, printed] = [once(child, "exit"), text(child.stdout)];
      await vi.waitFor(async () => expect(await isDatabaseRunning()).toBe(true), { timeout: 45_000, interval: 20 });
      child.kill("SIGTERM");
      expect(await exited).toEqual([0, null]);
      expect(await isDatabaseRunning()).toBe(false);
      said = await printed;
    }

    headgate = await startHeadgate(dataDir.path);
    expect(headgate.stdout()).toMatch(/^First run: the operator is admin@localhost, the token hg_/m);
    await operatorClient(headgate, dataDir.path).get("/account");
  });

  test("waits for a hanging client until a second signal", async () => {
    headgate = await startHeadgate(dataDir.path);
    const { hostname, port } = new URL(headgate.url);
    const client = connect(Number(port), hostname);
    client.on("error", () => undefined);
    await once(client, "connect");
    client.write("POST /api/v2/invitations/accept HTTP/1.1\r\nHost: x\r\nContent-Length: 100\r\n\r\n{");
    await expect.poll(async () => (await fetch(`${headgate?.url}/healthz`)).status).toBe(200);
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
});

describe("a first start that fails", () => {
  const startAndFail = async (settings: Record<string, string>): Promise<{ said: string; complaint: string }> => {
    const child = spawnHeadgate(["start"], settings);
    const { stdout, stderr } = child;
    if (stdout === null || stderr === null) throw new Error("Headgate has no output");
    const [said, complaint, [code]] = await Promise.all([text(stdout), text(stderr), once(child, "exit")]);
    expect(code).toBe(1);
    expect(await isDatabaseRunning()).toBe(false);
    return { said, complaint };
  };

  test("because the port is taken says what to do and creates nothing", async () => {
    const other = createServer();
    await once(other.listen(0, "127.0.0.1"), "listening");
    const { port } = other.address() as AddressInfo; // it listens on TCP
    const settings = { HEADGATE_DATA_DIR: join(dataDir.path, "new"), HEADGATE_PORT: String(port) };
    const { said, complaint } = await startAndFail(settings);
    expect(complaint).toContain(
      `cannot listen on 127.0.0.1:${port}: another program uses this port (HEADGATE_PORT). Stop it, or set another`,
    );
    expect(complaint).not.toContain("stop --all"); // no process of this data directory can have the port
    expect(said).toBe("");
    expect(existsSync(settings.HEADGATE_DATA_DIR)).toBe(false);

    mkdirSync(settings.HEADGATE_DATA_DIR);
    writeFileSync(join(settings.HEADGATE_DATA_DIR, "port-holder.sock"), ""); // left by an earlier start
    const later = await startAndFail(settings);
    other.close();
    expect(later.complaint).toMatch(/another program uses this port .* run `npm run admin -- stop --all` first\./);
  });

  test("after it has created the operator still prints the token and stores it in a private file", async () => {
    renewDataDir();
    const { said, complaint } = await startAndFail({
      HEADGATE_DATA_DIR: dataDir.path,
      HEADGATE_PORT: "0",
      HEADGATE_PROXY_SOCKET: join(dataDir.path, "no-folder/proxy.sock"),
    });
    expect(complaint).toMatch(/no-folder does not exist/);
    expect(complaint.match(/"[^"]*migration[^"]*"/g)).toEqual(['"migrations applied"']);
    const token = readFileSync(join(dataDir.path, "admin-token"), "utf8").trim();
    expect(said).toContain(token);
    for (const name of ["admin-token", "keys"]) expect(statSync(join(dataDir.path, name)).mode & 0o777).toBe(0o600);

    headgate = await startHeadgate(dataDir.path);
    await operatorClient(headgate, dataDir.path).get("/account");
    expect(headgate.stdout()).not.toContain(token);
  });
});

describe("a running server", () => {
  test("is what admin settings and admin status show, whatever the environment of their shell is", async () => {
    const secret = "correct horse battery";
    const settings = { HEADGATE_LOG_LIMIT: "2048m", HEADGATE_RUN_DISK: "0", HEADGATE_PASSPHRASE: secret };
    headgate = await startHeadgate(dataDir.path, settings);
    const { url, pid } = headgate;
    const admin = adminCli({ HEADGATE_DATA_DIR: dataDir.path, HEADGATE_LOG_LIMIT: "7m", HEADGATE_PORT: "9" });
    const [rows, status, { stdout, stderr }] = await Promise.all([
      admin.json("settings"),
      admin.json("status"),
      admin.finish("settings"),
    ]);
    expect(status).toMatchObject({ server: "running", pid, address: url });
    expect(stderr).toBe(`These are the settings of the running server (pid ${pid}, ${url}).\n`);
    expect(rows).toContainEqual({ name: "HEADGATE_LOG_LIMIT", value: "2g", default: "100m" });
    expect(rows).toContainEqual({ name: "HEADGATE_RUN_DISK", value: "0", default: "50%" });
    expect(rows).toContainEqual({ name: "HEADGATE_PASSPHRASE", value: "********", default: expect.any(String) });
    // Those that are not set have the text of their default, unless the default depends on something else.
    const given = ["HEADGATE_PORT", ...Object.keys(settings)];
    const others = rows.filter(
      (row: Row) => row.value !== null && row.value !== row.default && !given.includes(row.name),
    );
    expect(others.map((row: Row) => row.name)).toEqual([
      "HEADGATE_DATA_DIR",
      "HEADGATE_CACHE_DIR",
      "HEADGATE_KEY_FILE",
      "HEADGATE_ALLOWED_NETWORKS",
    ]);
    const file = join(dataDir.path, "running-server.json");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, "utf8") + stdout).not.toContain(secret);

    await headgate.stop();
    const stopped = await admin.finish("settings");
    expect(stopped.stderr).toBe(
      `No server runs on ${dataDir.path}. These are the settings that a start from this shell would use.\n`,
    );
    expect(stopped.stdout).toMatch(/^HEADGATE_LOG_LIMIT +7m +100m$/m);
    expect(existsSync(file)).toBe(false);
  });
});

interface Row {
  name: string;
  value: string | null;
  default: string;
}

describe("an unknown HEADGATE_ variable", () => {
  test("causes a warning in the log with the nearest setting, and the server starts", async () => {
    headgate = await startHeadgate(dataDir.path, { HEADGATE_LOG_LEVL: "debug" });
    const warning =
      "the variable HEADGATE_LOG_LEVL is not a setting and has no effect; did you mean HEADGATE_LOG_LEVEL?";
    await vi.waitFor(() => expect(headgate?.stderr()).toContain(`"level":40`), { timeout: 45_000 });
    expect(headgate.stderr()).toContain(warning);
  });

  test("is still an error in the settings file", async () => {
    const file = join(dataDir.path, "settings");
    writeFileSync(file, "HEADGATE_LOG_LEVL=debug\n");
    await expect(startHeadgate(dataDir.path, { HEADGATE_CONFIG: file })).rejects.toThrow(
      `HEADGATE_LOG_LEVL in ${file} is not a setting; did you mean HEADGATE_LOG_LEVEL?`,
    );
  });
});
