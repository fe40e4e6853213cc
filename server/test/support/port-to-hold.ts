import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { pino } from "pino";
import type { TestContext } from "vitest";
import { endPortHolder, holdPort, type HeldPort } from "../../src/processes/port-holder/port-holder.ts";
import { findPython } from "../../src/processes/set-up/find-python.ts";
import { listProcesses } from "../../src/lib/process-table.ts";
import { freePort } from "./free-port.ts";
import { pretendRunner } from "./pretended-runner.ts";

export const ANSWER = "HTTP/1.1 503 Away\r\nContent-Length: 4\r\nConnection: close\r\n\r\naway";
export const GET = "GET / HTTP/1.1\r\nHost: x\r\n\r\n";

const fixtures = new URL("../../src/processes/port-holder/fixtures/", import.meta.url);
const oldHolder = fileURLToPath(new URL("old-holder.py", fixtures));

export interface PortToHold {
  readonly folder: string;
  readonly port: number;
  readonly hold: (at?: number, host?: string) => Promise<HeldPort>;
  readonly holders: () => Promise<number[]>;
  /** Sends the request and returns the whole response. */
  readonly say: (request: string, host?: string) => Promise<string>;
  readonly pretendRunner: () => { end(): void };
  /** A holder of another version; settles when it holds the port. */
  readonly startOldHolder: (manner: "hands" | "obeys" | "ignores") => Promise<OldHolder>;
}

export interface OldHolder {
  saidUntilItsEnd(): Promise<string>;
}

/** A data directory and a free port. */
export async function aPortToHold(onTestFinished: TestContext["onTestFinished"]): Promise<PortToHold> {
  // Longer than the limit for the address of a Unix socket.
  const folder = mkdtempSync(join(tmpdir(), `headgate-port-${"x".repeat(120)}-`));
  const port = await freePort();
  onTestFinished(async () => {
    await endPortHolder(folder);
    rmSync(folder, { recursive: true });
  });
  return {
    folder,
    port,
    async hold(at = port, host = "127.0.0.1") {
      const log = pino({ level: "silent" });
      const held = await holdPort({ dataDir: folder, host, port: at, answer: ANSWER, log });
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
    async startOldHolder(manner) {
      const python = await findPython();
      const stdio: ["ignore", "pipe", "inherit"] = ["ignore", "pipe", "inherit"];
      const old = spawn(python?.path ?? "", [oldHolder, folder, String(port), manner], { stdio });
      onTestFinished(() => void old.kill("SIGKILL"));
      await once(old.stdout, "data");
      const said = text(old.stdout);
      return { saidUntilItsEnd: () => said };
    },
  };
}
