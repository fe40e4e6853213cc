import { spawn, type StdioOptions } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, statSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import { describe, test, vi, type TestContext } from "vitest";
import { freePort, isFree } from "../../../test/support/free-port.ts";
import { pretendRunner } from "../../../test/support/pretended-runner.ts";
import { because } from "../../../test/skip-reasons/skip-reasons.ts";
import { listProcesses } from "../../lib/process-table.ts";
import { findPython, howToInstallPython } from "../set-up/find-python.ts";
import { endPortHolder, holdPort, type HeldPort } from "./port-holder.ts";

const python = await findPython();
const ANSWER = "HTTP/1.1 503 Away\r\nContent-Length: 4\r\nConnection: close\r\n\r\naway";
const PATIENCE = { timeout: 45_000 };

interface Place {
  readonly folder: string;
  readonly port: number;
  readonly hold: (at?: number) => Promise<HeldPort>;
  readonly holders: () => Promise<number[]>;
  /** Sends it and returns all that comes back. */
  readonly say: (request: string, host?: string) => Promise<string>;
  readonly pretendRunner: () => { end(): void };
}

/** A data directory and a free port. */
async function aPlace(onTestFinished: TestContext["onTestFinished"]): Promise<Place> {
  // Longer than the address of a Unix socket may be.
  const folder = mkdtempSync(join(tmpdir(), `headgate-port-${"x".repeat(120)}-`));
  const port = await freePort();
  onTestFinished(async () => {
    await endPortHolder(folder);
    rmSync(folder, { recursive: true });
  });
  return {
    folder,
    port,
    async hold(at = port) {
      const log = pino({ level: "silent" });
      const held = await holdPort({ dataDir: folder, host: "127.0.0.1", port: at, answer: ANSWER, log });
      if (held === undefined) throw new Error("nothing holds the port");
      return held;
    },
    async holders() {
      const ours = (line: string): boolean => line.includes("port-holder.py hold") && line.includes(folder);
      return (await listProcesses()).filter(({ commandLine }) => ours(commandLine)).map(({ pid }) => pid);
    },
    async say(request, host = "127.0.0.1") {
      const client = connect(port, host);
      client.write(request);
      return text(client);
    },
    pretendRunner() {
      const runner = pretendRunner(folder);
      onTestFinished(() => runner.end());
      return runner;
    },
  };
}

const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

const options = { concurrent: true, ...because(howToInstallPython()) };
describe.skipIf(python === undefined)("the holder of a port", options, () => {
  test("answers in both families until the server serves, and when it does no longer", async ({
    expect,
    onTestFinished,
  }) => {
    const { port, hold, holders, say } = await aPlace(onTestFinished);
    const held = await hold();
    expect(held.sockets).toHaveLength(2);
    for (const host of ["127.0.0.1", "::1"]) expect(await say(GET, host)).toBe(ANSWER);
    await held.serve(true);
    const waiting = say(GET); // no server accepts it in this test
    await held.serve(false);
    expect(await waiting).toBe(ANSWER);
    await held.release();
    expect(await isFree(port)).toBe(true);
    expect(await holders()).toEqual([]);
  });

  test("gives a slow, an endless and a silent client little time, and a HEAD request no body", async ({
    expect,
    onTestFinished,
  }) => {
    const { hold, say } = await aPlace(onTestFinished);
    const held = await hold();
    const head = ANSWER.replace(/away$/, "");
    const [slow, endless, silent, headOnly] = await Promise.all([
      say("GET / HTTP/1.1\r\n"),
      say(`GET / HTTP/1.1\r\nX: ${"x".repeat(20_000)}`),
      say(""),
      say(GET.replace("GET", "HEAD")),
    ]);
    expect({ slow, endless, silent, headOnly }).toEqual({ slow: ANSWER, endless: ANSWER, silent: "", headOnly: head });
    await held.release();
  });

  test("answers although hundreds of idle connections are open", async ({ expect, onTestFinished }) => {
    const { port, hold, say } = await aPlace(onTestFinished);
    const held = await hold();
    const idle = Array.from({ length: 400 }, () => connect(port, "127.0.0.1").on("error", () => undefined));
    await Promise.all(idle.map((client) => once(client, "connect")));
    expect(await say(GET)).toBe(ANSWER);
    for (const client of idle) client.destroy();
    await held.release();
  });

  test("stays as long as a runner lives, and hands the port to the next one without a gap", async ({
    expect,
    onTestFinished,
  }) => {
    const { folder, port, hold, holders, say, pretendRunner } = await aPlace(onTestFinished);
    const runner = pretendRunner();
    await (await hold()).release();
    const [first] = await holders();
    expect(await say(GET)).toBe(ANSWER);
    expect(await isFree(port)).toBe(false);
    expect(statSync(join(folder, "port-holder.sock")).mode & 0o777).toBe(0o600);

    const connections = Array.from({ length: 50 }, () => say(GET));
    const next = await hold();
    expect(new Set(await Promise.all(connections))).toEqual(new Set([ANSWER]));
    await expect.poll(holders, PATIENCE).not.toContain(first);
    expect(await holders()).toHaveLength(1);
    await next.release();
    runner.end();
    await expect.poll(holders, PATIENCE).toEqual([]);
    expect(await isFree(port)).toBe(true);
  });

  test("is replaced when it is killed, and the port is not free in between", async ({ expect, onTestFinished }) => {
    const { port, hold, holders, say } = await aPlace(onTestFinished);
    const held = await hold();
    await held.serve(true);
    const [killed = 0] = await holders();
    process.kill(killed, "SIGKILL");
    await vi.waitFor(async () => {
      expect(await isFree(port)).toBe(false);
      expect((await holders()).filter((pid) => pid !== killed)).toHaveLength(1);
    }, PATIENCE);
    await held.serve(false);
    expect(await say(GET, "::1")).toBe(ANSWER);
    await held.release();
  });

  test("lets go of the old port when the next server wants another one, or none", async ({
    expect,
    onTestFinished,
  }) => {
    const { folder, port, hold, pretendRunner } = await aPlace(onTestFinished);
    pretendRunner();
    await (await hold()).release();
    const other = await freePort();
    await (await hold(other)).release();
    expect(await isFree(port)).toBe(true);
    expect(await isFree(other)).toBe(false);
    await endPortHolder(folder);
    expect(await isFree(other)).toBe(true);
  });

  test("has the error of the system when the port is taken", async ({ expect, onTestFinished }) => {
    const { folder, hold } = await aPlace(onTestFinished);
    const other = await hold();
    rmSync(join(folder, "port-holder.sock"));
    await expect(hold()).rejects.toMatchObject({ code: "EADDRINUSE", address: "127.0.0.1" });
    await other.release();
  });

  test.for(["obeys", "ignores"])(
    "of another version that %s the request to end gives way",
    async (manner, { expect, onTestFinished }) => {
      const { folder, port, hold, say } = await aPlace(onTestFinished);
      const program = fileURLToPath(new URL("fixtures/old-holder.py", import.meta.url));
      const stdio: StdioOptions = ["ignore", "pipe", "inherit"];
      const old = spawn(python?.path ?? "", [program, folder, String(port), manner], { stdio });
      onTestFinished(() => void old.kill("SIGKILL"));
      const gone = once(old, "exit");
      if (old.stdout !== null) await once(old.stdout, "data");
      const held = await hold();
      await gone;
      expect(await say(GET)).toBe(ANSWER);
      await held.release();
    },
  );
});
