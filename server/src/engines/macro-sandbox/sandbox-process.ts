import { fork, type ChildProcess } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cpuMs } from "../../lib/process-table.ts";
import type { Job, Outcome } from "./protocol.ts";

const START_LIMIT_MS = 20_000;
/** However little processor time the process had by then. */
const LONGEST_MS = 10_000;
/** The interpreter's own limit comes first; this one cannot be missed. It counts the threads that compile, too. */
const KILL_GRACE_MS = 1000;

const folder = dirname(fileURLToPath(import.meta.url));
const packages = ["@jitl/quickjs-wasmfile-release-sync", "quickjs-emscripten-core"].map((name) =>
  fileURLToPath(import.meta.resolve(name)),
);

/**
 * A process that can do nothing but read its own program: no environment, no files, no children, a small heap. It is
 * killed when a job is over its time.
 */
export class SandboxProcess {
  readonly #child: ChildProcess;
  readonly #ready: Promise<void>;
  jobs = 0;

  constructor() {
    this.#child = fork(join(folder, "sandbox-main.ts"), [], {
      cwd: "/",
      env: {},
      execArgv: ["--permission", ...readable().map((path) => `--allow-fs-read=${path}`), "--max-old-space-size=64"],
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#child.unref();
    this.#child.channel?.unref();
    this.#ready = this.#answer(START_LIMIT_MS, START_LIMIT_MS).then((answer) => {
      if (answer === undefined) throw new Error("the macro sandbox did not start");
    });
    this.#ready.catch(() => this.stop());
  }

  get isAlive(): boolean {
    return this.#child.connected;
  }

  /** Undefined: it had to be killed, or died. */
  async run(job: Job): Promise<Outcome | undefined> {
    await this.#ready;
    this.jobs += 1;
    const answer = this.#answer(job.limits.cpuMs + KILL_GRACE_MS);
    this.#child.send(job, (error) => {
      if (error !== null) this.stop();
    });
    const outcome = await answer;
    if (outcome === undefined) this.stop();
    return outcome as Outcome | undefined; // what sandbox-main.ts sends
  }

  stop(): void {
    this.#child.kill("SIGKILL");
  }

  /** The next message; undefined when the process ended or has used so much processor time. */
  #answer(limitMs: number, longestMs = LONGEST_MS): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const end = (): void => resolve(undefined);
    const [cpuMsBefore, begin] = [this.#cpuMs(), performance.now()];
    const check = (): void => {
      const passedMs = performance.now() - begin;
      const leftMs = limitMs - ((this.#cpuMs() ?? passedMs) - (cpuMsBefore ?? 0));
      // Not at once: after a pause of this process, timers run before the messages that have arrived.
      if (leftMs <= 0 || passedMs >= longestMs) setImmediate(end);
      else timer = setTimeout(check, Math.min(leftMs, longestMs - passedMs));
    };
    let timer = setTimeout(check, limitMs);
    this.#child.once("message", resolve).once("exit", end).once("error", end);
    return promise.finally(() => {
      clearTimeout(timer);
      this.#child.off("message", resolve).off("exit", end).off("error", end);
    });
  }

  /** Undefined where the system does not tell: then all time that passes counts. */
  #cpuMs(): number | undefined {
    const { pid } = this.#child;
    return pid === undefined ? undefined : cpuMs(pid);
  }
}

/** The program and its packages; modules are looked up through the package.json files above them. */
function readable(): string[] {
  const modules = packages.map((entry) => entry.slice(0, entry.lastIndexOf("node_modules") + "node_modules".length));
  const above = ancestors(folder).map((path) => join(path, "package.json"));
  return [...new Set([`${folder}/*`, ...modules.map((path) => `${path}/*`), ...above])];
}

function ancestors(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [path, ...ancestors(parent)];
}
