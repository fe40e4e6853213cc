import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";
import { type ProcessHandle, startDetached, type DetachedProgram } from "./detached-process.ts";

export interface SpawnRequest {
  readonly id: number;
  readonly program: DetachedProgram;
}

export type SpawnReply =
  | { readonly id: number; readonly handle: ProcessHandle }
  | { readonly id: number; readonly error: { readonly message: string; readonly code: string | undefined } };

const main = fileURLToPath(new URL("spawner.mjs", import.meta.url));
/** The same as for a runner. */
const nodeOptions = ["--max-semi-space-size=1", "--v8-pool-size=1"];

/**
 * Starts programs from a small process. A fork copies the page tables of the forking process: with hundreds of megabytes
 * in memory, our server would stall for tens of milliseconds.
 */
class Spawner {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (reply: SpawnReply | undefined) => void>();
  #lastId = 0;

  constructor() {
    this.#child = fork(main, [], {
      cwd: "/",
      env: { PATH: "/usr/bin:/bin" },
      execArgv: nodeOptions,
      stdio: ["ignore", "ignore", "ignore", "ipc"],
    });
    this.#child.unref();
    this.#child.channel?.unref();
    this.#child.on("message", (reply: SpawnReply) => this.#settle(reply.id, reply));
    for (const end of ["exit", "error", "disconnect"]) this.#child.on(end, () => this.#settleAll());
  }

  get isAlive(): boolean {
    return this.#child.connected;
  }

  /** Undefined if the spawner died before it replied. */
  start(program: DetachedProgram): Promise<SpawnReply | undefined> {
    const id = (this.#lastId += 1);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      if (this.#waiting.size === 1) this.#child.channel?.ref();
      const request: SpawnRequest = { id, program };
      this.#child.send(request, (error) => {
        if (error !== null) this.#settle(id, undefined);
      });
    });
  }

  #settle(id: number, reply: SpawnReply | undefined): void {
    this.#waiting.get(id)?.(reply);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#child.channel?.unref();
  }

  #settleAll(): void {
    for (const id of this.#waiting.keys()) this.#settle(id, undefined);
  }
}

let spawner: Spawner | undefined;

/**
 * Like `startDetached`, for programs that may be started twice: if the spawner dies before it replies, this process
 * starts the program again.
 */
export async function startFromSpawner(program: DetachedProgram): Promise<ProcessHandle> {
  if (spawner?.isAlive !== true) spawner = new Spawner();
  const reply = await spawner.start(program);
  if (reply === undefined) return startDetached(program);
  if ("handle" in reply) return reply.handle;
  throw Object.assign(new Error(reply.error.message), { code: reply.error.code });
}
