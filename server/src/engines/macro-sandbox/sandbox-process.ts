import { fork, type ChildProcess } from "node:child_process";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { cpuMs } from "../../lib/process-table.ts";
import type { Job, Outcome } from "./protocol.ts";

const START_LIMIT_MS = 20_000;
/** Limit of wall-clock time, however little CPU time the process had. */
const MAX_ELAPSED_MS = 10_000;
/** Added to the interpreter's own limit, which some code ignores. Compiler threads count, too. */
const KILL_GRACE_MS = 1000;

const folder = dirname(fileURLToPath(import.meta.url));
const packages = ["@jitl/quickjs-wasmfile-release-sync", "quickjs-emscripten-core"].map((name) =>
  fileURLToPath(import.meta.resolve(name)),
);

/**
 * A process that can only read its own program: no environment, no other files, no child processes and a small heap. It is
 * killed if a job exceeds its time.
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
      if (answer === undefined) throw new Error("the macro sandbox did not start in time");
    });
    this.#ready.catch(() => this.stop());
  }

  get isAlive(): boolean {
    return this.#child.connected;
  }

  /** Undefined if the process was killed or died. */
  async run(job: Job): Promise<Outcome | undefined> {
    await this.#ready;
    this.jobs += 1;
    const answer = this.#answer(job.limits.cpuMs + KILL_GRACE_MS);
    this.#child.send(job, (error) => {
      if (error !== null) this.stop();
    });
    const outcome = await answer;
    if (outcome === undefined) this.stop();
    return outcome as Outcome | undefined; // sent by sandbox-main.ts
  }

  stop(): void {
    this.#child.kill("SIGKILL");
  }

  /** The next message, or undefined if the process ends or exceeds the limit of CPU time. */
  #answer(limitMs: number, maxElapsedMs = MAX_ELAPSED_MS): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<unknown>();
    const end = (): void => resolve(undefined);
    const [cpuMsBefore, begin] = [this.#cpuMs(), performance.now()];
    const check = (): void => {
      const passedMs = performance.now() - begin;
      const leftMs = limitMs - ((this.#cpuMs() ?? passedMs) - (cpuMsBefore ?? 0));
      // Deferred, because timers run before messages that arrived while this process was suspended.
      if (leftMs <= 0 || passedMs >= maxElapsedMs) setImmediate(end);
      else timer = setTimeout(check, Math.min(leftMs, maxElapsedMs - passedMs));
    };
    let timer = setTimeout(check, limitMs);
    this.#child.once("message", resolve).once("exit", end).once("error", end);
    return promise.finally(() => {
      clearTimeout(timer);
      this.#child.off("message", resolve).off("exit", end).off("error", end);
    });
  }

  /** Undefined if the system does not report it; then wall-clock time counts. */
  #cpuMs(): number | undefined {
    const { pid } = this.#child;
    return pid === undefined ? undefined : cpuMs(pid);
  }
}

/** The program, its packages, and the package.json files that Node reads to resolve modules. */
function readable(): string[] {
  const modules = packages.map((entry) => entry.slice(0, entry.lastIndexOf("node_modules") + "node_modules".length));
  const above = ancestors(folder).map((path) => join(path, "package.json"));
  return [...new Set([`${folder}/*`, ...modules.map((path) => `${path}/*`), ...above])];
}

function ancestors(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [path] : [path, ...ancestors(parent)];
}
