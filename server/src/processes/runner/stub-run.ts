import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { ProcessHandle } from "../detached-process/detached-process.ts";
import type { Standby } from "./protocol.ts";
import {
  openRunnerClient,
  type ProgramToRun,
  type RunLimits,
  type RunnerClient,
  type RunView,
} from "./runner-client.ts";

const limits: RunLimits = {
  outputFile: null,
  logFile: null,
  logLimitBytes: 1_000_000,
  timeoutSeconds: null,
  checkSeconds: 60,
  elapsedSeconds: 0,
  graceSeconds: 5,
  leaseFile: null,
  leaseSeconds: 600,
  rosterFolder: null,
  orphan: null,
  resources: null,
};

/** Test support: real runs of shell scripts, which are ended and removed after each test. */
export interface StubRuns {
  readonly base: string;
  make(folder?: string): StubRun;
  /** Opens a run whose folder was moved. */
  open(folder: string): StubRun;
  dispose(): Promise<void>;
}

export interface StubRun {
  readonly folder: string;
  readonly client: RunnerClient;
  start(script: string, changes?: Partial<RunLimits & ProgramToRun>, standby?: Standby): Promise<ProcessHandle>;
  read(name: string): string;
  /** Waits until the program has printed the text. */
  printed(text: string): Promise<void>;
  running(): Promise<Extract<RunView, { state: "running" }>>;
  ended(): Promise<Extract<RunView, { state: "ended" }>["status"]>;
}

export function makeStubRuns(): StubRuns {
  const base = mkdtempSync(join(tmpdir(), "headgate-runner-"));
  const runs: StubRun[] = [];
  const open = (folder: string): StubRun => {
    const run = makeStubRun(folder);
    runs.push(run);
    return run;
  };
  return {
    base,
    open,
    make: (folder = base) => open(join(folder, `run-${runs.length}`)),
    async dispose() {
      await Promise.all(runs.map(async ({ client }) => client.kill()));
      rmSync(base, { recursive: true, maxRetries: 20 });
    },
  };
}

function makeStubRun(folder: string): StubRun {
  const client = openRunnerClient(folder);
  const read = (name: string): string => {
    try {
      return readFileSync(join(folder, name), "latin1");
    } catch {
      return "";
    }
  };
  return {
    folder,
    client,
    read,
    async start(script, changes = {}, standby) {
      const argv = ["/bin/sh", "-c", script];
      const program = { argv, cwd: "/", env: { PATH: "/usr/bin:/bin" }, identity: undefined, descriptor3: undefined };
      const { argv: words, cwd, env, identity, descriptor3, ...rest } = { ...program, ...limits, ...changes };
      return client.start({ argv: words, cwd, env, identity, descriptor3 }, rest, standby);
    },
    async printed(text) {
      await waitFor(() => (read("output").includes(text) ? true : undefined));
    },
    async running() {
      return waitFor(async () => {
        const view = await client.observe();
        return view.state === "running" ? view : undefined;
      });
    },
    async ended() {
      const view = await client.waitForEnd(AbortSignal.timeout(patienceMs));
      if (view.state !== "ended") throw new Error(`the run is ${view.state}: ${read("runner.err")}`);
      return view.status;
    },
  };
}

const patienceMs = 45_000;

async function waitFor<T>(find: () => T | undefined | Promise<T | undefined>): Promise<T> {
  const begin = performance.now();
  for (;;) {
    const found = await find();
    if (found !== undefined) return found;
    if (performance.now() - begin > patienceMs) throw new Error(`timed out after ${patienceMs} ms`);
    await delay(10);
  }
}
