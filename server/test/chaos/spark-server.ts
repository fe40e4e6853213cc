import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("spark-connect-main.ts", import.meta.url));

/** The stub of a Spark Connect server as a process that can be killed and started again on the same port. */
export class SparkServer {
  readonly #journal: string;
  #port = 0;
  #process: ChildProcess | undefined;

  /** The stub appends the events of its queries to this file. */
  constructor(journal: string) {
    this.#journal = journal;
  }

  get url(): string {
    return `sc://127.0.0.1:${this.#port}`;
  }

  async start(): Promise<void> {
    const child = spawn(process.execPath, [program, String(this.#port), this.#journal], {
      stdio: ["ignore", "pipe", "inherit"],
      env: { PATH: process.env.PATH ?? "" },
    });
    this.#process = child;
    const ended = once(child, "exit").then(() => Promise.reject(new Error("the stub of Spark Connect ended")));
    const [said] = (await Promise.race([once(child.stdout, "data"), ended])) as [Buffer];
    ended.catch(() => undefined); // a later end is intended
    this.#port = Number(/ready (\d+)/.exec(said.toString())?.[1]);
  }

  async kill(): Promise<void> {
    const running = this.#process;
    this.#process = undefined;
    if (running === undefined) return;
    const gone = once(running, "exit");
    running.kill("SIGKILL");
    await gone;
  }
}
