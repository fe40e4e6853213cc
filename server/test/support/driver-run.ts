import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, mkdirSync, mkdtempSync, openSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { SparkHome } from "../../src/engines/spark-home/spark-home.ts";
import { driverCommandLine, type SourceProgram } from "../../src/engines/spark-submit/driver-command-line.ts";
import type { EventLogState } from "../../src/engines/spark-submit/event-log/event-logs.ts";
import {
  renderHandOver,
  standbyCommandLine,
  standbyReady,
} from "../../src/engines/spark-submit/standby-command-line.ts";
import { readEventLog } from "../../src/engines/spark-submit/event-log/fixtures/read-event-log.ts";

/** `standby`: in a driver that was waiting. */
export type Manner = "cold" | "standby";

export interface ProgramToTry {
  readonly kind: SourceProgram["kind"];
  readonly text: string;
  readonly arguments?: readonly string[];
  readonly programArguments?: readonly string[];
  readonly properties?: Readonly<Record<string, string>>;
}

export interface DriverEnd {
  readonly exitCode: unknown;
  readonly output: string;
  readonly log: string;
  readonly events: EventLogState;
}

const fileNames = { python: "program.py", scala: "program.scala", R: "program.R", "R-by-python": "program.R" } as const;
const READY_MS = 120_000;

/** Runs a real driver in its own folder, which is removed afterwards. */
export async function runDriver(home: SparkHome, what: ProgramToTry, manner: Manner): Promise<DriverEnd> {
  const folder = mkdtempSync(join(tmpdir(), "headgate-driver-"));
  const path = (name: string): string => join(folder, name);
  try {
    mkdirSync(path("events"));
    const file = path(fileNames[what.kind]);
    writeFileSync(file, what.text);
    const { arguments: words = [], programArguments = [], properties = {} } = what;
    const shared = {
      home,
      properties,
      classPath: [],
      defaultMemoryMiB: 1024,
      scratchFolder: path("scratch"),
      userHome: folder,
    };
    const line = driverCommandLine({
      ...shared,
      program: { kind: what.kind, file, arguments: words, programArguments },
      propertiesFile: path("spark.conf"),
      applicationId: "command-7-1",
      tags: { command: "7", request: "r" },
      eventLogFolder: path("events"),
    });
    writeFileSync(path("spark.conf"), line.propertiesText, { mode: 0o600 });
    const waiting = standbyCommandLine({ ...shared, propertiesFile: path("standby.conf") });
    writeFileSync(path("standby.conf"), waiting.propertiesText, { mode: 0o600 });
    const files = [openSync(path("output"), "a"), openSync(path("log"), "a")];
    const { argv, env } = manner === "cold" ? line : waiting;
    const [java = "", ...rest] = argv;
    const child = spawn(java, rest, {
      cwd: folder,
      env: { PATH: "/usr/bin:/bin", HOME: folder, LANG: "C.UTF-8", ...env },
      stdio: [manner === "cold" ? "ignore" : "pipe", ...files],
    });
    const exited = once(child, "exit");
    if (manner === "standby") await handOver(child, path, renderHandOver(line.submission));
    const [exitCode]: unknown[] = await exited;
    files.forEach(closeSync);
    const output = readFileSync(path("output"), "utf8");
    return {
      exitCode,
      output: manner === "cold" ? output : output.slice(standbyReady.length),
      log: readFileSync(path("log"), "utf8"),
      events: readEventLog(path("events/command-7-1")),
    };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function handOver(child: ChildProcess, path: (name: string) => string, text: string): Promise<void> {
  const begin = performance.now();
  while (!existsSync(path("output")) || readFileSync(path("output"), "utf8") !== standbyReady) {
    if (child.exitCode !== null || performance.now() - begin > READY_MS) {
      child.kill("SIGKILL");
      throw new Error(`the driver did not become ready: ${readFileSync(path("log"), "utf8")}`);
    }
    await delay(20);
  }
  child.stdin?.end(text);
}
