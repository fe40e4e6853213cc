import { once } from "node:events";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { createServer, connect, type AddressInfo } from "node:net";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { afterAll, afterEach, describe, expect, test, vi } from "vitest";
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

describe("a first start that cannot listen", () => {
  test("still prints the token, stores it in a private file, says what to do and leaves nothing running", async () => {
    renewDataDir();
    const other = createServer();
    await once(other.listen(0, "127.0.0.1"), "listening");
    const { port } = other.address() as AddressInfo; // it listens on TCP
    const child = spawnHeadgate(["start"], { HEADGATE_DATA_DIR: dataDir.path, HEADGATE_PORT: String(port) });
    const { stdout, stderr } = child;
    if (stdout === null || stderr === null) throw new Error("Headgate has no output");
    const [said, complaint, [code]] = await Promise.all([text(stdout), text(stderr), once(child, "exit")]);
    other.close();
    expect(code).toBe(1);
    expect(complaint).toMatch(/HEADGATE_PORT is taken/);
    const token = readFileSync(join(dataDir.path, "admin-token"), "utf8").trim();
    expect(said).toContain(token);
    for (const name of ["admin-token", "keys"]) expect(statSync(join(dataDir.path, name)).mode & 0o777).toBe(0o600);
    expect(await isDatabaseRunning()).toBe(false);

    headgate = await startHeadgate(dataDir.path);
    await operatorClient(headgate, dataDir.path).get("/account");
    expect(headgate.stdout()).not.toContain(token);
  });
});

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
