import { setTimeout as delay } from "node:timers/promises";
import type { ChaosNode } from "./chaos-node.ts";
import { journallingProgram } from "./journal.ts";
import type { SeededRandom } from "./seeded-random.ts";

export interface Submitted {
  readonly id: number;
  readonly fails: boolean;
  cancelled: boolean;
}

const ANSWER_WITHIN_MS = 5000;

/** In tenths of a second. A few still run when the lease of a node that is cut off is over, and when others settle them. */
function lengthOf(index: number): [number, number] {
  return index % 16 === 3 ? [100, 200] : [1, 15];
}

/** A client that repeats, with the same idempotency key, until some node has answered. */
export class ChaosClient {
  readonly #nodes: readonly ChaosNode[];
  readonly #token: string;
  readonly #random: SeededRandom;

  constructor(nodes: readonly ChaosNode[], token: string, random: SeededRandom) {
    this.#nodes = nodes;
    this.#token = token;
    this.#random = random;
  }

  async submit(index: number): Promise<Submitted> {
    const random = this.#random;
    const fails = random.fraction() < 0.1;
    const retry = random.pick([0, 0, 1, 3]) ?? 0;
    const cancelled = random.fraction() < 0.05;
    const body = {
      command_type: "SparkCommand",
      language: "python",
      program: journallingProgram(Math.floor(random.between(...lengthOf(index))), fails ? 3 : 0),
      retry,
    };
    const { id } = (await this.#until("POST", "/commands", body, `chaos-${index}`)) as { id: number }; // §2.2
    if (cancelled) {
      await delay(random.between(0, 2000));
      await this.#until("PUT", `/commands/${id}`, {}, undefined);
    }
    return { id, fails, cancelled };
  }

  async #until(method: string, path: string, body: object, key: string | undefined): Promise<unknown> {
    for (;;) {
      const url = this.#random.pick(this.#nodes)?.url;
      const reply = url === undefined ? undefined : await this.#send(`${url}/api/v1.2${path}`, method, body, key);
      if (reply !== undefined) return reply;
      await delay(100);
    }
  }

  /** Undefined: not answered, or not now. */
  async #send(url: string, method: string, body: object, key: string | undefined): Promise<unknown> {
    try {
      const response = await fetch(url, {
        method,
        headers: {
          "X-AUTH-TOKEN": this.#token,
          "Content-Type": "application/json",
          ...(key === undefined ? {} : { "Idempotency-Key": key }),
        },
        body: JSON.stringify(body),
        signal: AbortSignal.timeout(ANSWER_WITHIN_MS),
      });
      const text = await response.text();
      if (response.ok) return JSON.parse(text);
      if (response.status >= 500 || response.status === 409) return undefined;
      throw new Refused(`${method} ${url}: ${response.status} ${text}`);
    } catch (error) {
      if (error instanceof Refused) throw error;
      return undefined;
    }
  }
}

class Refused extends Error {}
