import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { MixedTask } from "./mixed-work.ts";
import type { Counts, RequestAttack } from "./request-attacks.ts";
import type { SteadyResult, SteadyTask } from "./steady-requests.ts";

/** A separate process that sends requests, so that it does not delay other clients. */
export class ClientProcess {
  readonly #child: ChildProcess = fork(fileURLToPath(new URL("client-main.ts", import.meta.url)), {
    serialization: "advanced",
    detached: true, // it changes the priority of its session
  });
  /** Settles when the process accepts tasks. */
  readonly ready: Promise<unknown> = once(this.#child, "message");

  perform(task: SteadyTask): Promise<SteadyResult>;
  perform(task: RequestAttack | MixedTask): Promise<Counts>;
  async perform(task: SteadyTask | RequestAttack | MixedTask): Promise<SteadyResult | Counts> {
    this.#child.send(task);
    const ended = once(this.#child, "exit").then(() => Promise.reject(new Error("a client process ended")));
    ended.catch(() => undefined); // after the result the end is intended
    const [result] = (await Promise.race([once(this.#child, "message"), ended])) as [SteadyResult | Counts];
    return result;
  }

  close(): void {
    this.#child.kill();
  }
}
