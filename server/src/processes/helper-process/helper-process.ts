/**
 * A small process of ours that does work which would stall the server's own process. It answers requests, in any order,
 * and ends with the process that started it.
 */
import { fork, type ChildProcess } from "node:child_process";
import { fileURLToPath } from "node:url";

interface Numbered<Request> {
  readonly id: number;
  readonly request: Request;
}

interface Failure {
  readonly message: string;
  readonly code: string | undefined;
}

type Reply<Answer> = { readonly id: number } & ({ readonly answer: Answer } | { readonly error: Failure });

/** The same as for a runner. */
const nodeOptions = ["--max-semi-space-size=1", "--v8-pool-size=1"];

export class HelperProcess<Request, Answer> {
  readonly #program: URL;
  #running: RunningHelper<Request, Answer> | undefined;

  /** `program`: an entry point that calls `answerRequests`. The process is started by the first request. */
  constructor(program: URL) {
    this.#program = program;
  }

  /**
   * Rejects with the error of the helper, which has the system's code, if any. Undefined: the helper died before it
   * answered. The next request starts another one.
   */
  async ask(request: Request): Promise<Answer | undefined> {
    if (this.#running?.isAlive !== true) this.#running = new RunningHelper(this.#program);
    const reply = await this.#running.send(request);
    if (reply === undefined) return undefined;
    if ("error" in reply) throw Object.assign(new Error(reply.error.message), { code: reply.error.code });
    return reply.answer;
  }
}

/** Keeps the server's process alive only while a request waits. */
class RunningHelper<Request, Answer> {
  readonly #child: ChildProcess;
  readonly #waiting = new Map<number, (reply: Reply<Answer> | undefined) => void>();
  #lastId = 0;

  constructor(program: URL) {
    this.#child = fork(fileURLToPath(program), [], {
      cwd: "/",
      env: { PATH: "/usr/bin:/bin" },
      execArgv: nodeOptions,
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    });
    this.#child.unref();
    this.#child.channel?.unref();
    this.#child.on("message", (reply: Reply<Answer>) => this.#settle(reply.id, reply));
    for (const end of ["exit", "error", "disconnect"]) this.#child.on(end, () => this.#settleAll());
  }

  get isAlive(): boolean {
    return this.#child.connected;
  }

  send(request: Request): Promise<Reply<Answer> | undefined> {
    const id = (this.#lastId += 1);
    return new Promise((resolve) => {
      this.#waiting.set(id, resolve);
      if (this.#waiting.size === 1) this.#child.channel?.ref();
      const numbered: Numbered<Request> = { id, request };
      this.#child.send(numbered, (error) => {
        if (error !== null) this.#settle(id, undefined);
      });
    });
  }

  #settle(id: number, reply: Reply<Answer> | undefined): void {
    this.#waiting.get(id)?.(reply);
    this.#waiting.delete(id);
    if (this.#waiting.size === 0) this.#child.channel?.unref();
  }

  #settleAll(): void {
    for (const id of this.#waiting.keys()) this.#settle(id, undefined);
  }
}

/** Called in the helper process. `answer` gets the requests that the other process sends. */
export function answerRequests(answer: (request: never) => Promise<unknown>): void {
  process.on("SIGINT", () => undefined); // Ctrl-C is for the server; this process ends with it
  process.on("disconnect", () => process.exit(0));
  process.on("message", ({ id, request }: Numbered<never>) => {
    const reply = (message: Reply<unknown>): void => void process.send?.(message);
    answer(request).then(
      (value) => reply({ id, answer: value }),
      (error: unknown) => {
        const { message, code } = error as NodeJS.ErrnoException; // of system calls
        reply({ id, error: { message, code } });
      },
    );
  });
}
