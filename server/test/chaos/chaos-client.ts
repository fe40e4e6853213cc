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
const LATER_TICKS = 10;

/** In tenths of a second. A few still run when the lease of a node that is cut off is over, and when others settle them. */
function lengthOf(index: number, someLong: boolean): [number, number] {
  return someLong && index % 16 === 3 ? [100, 200] : [1, 15];
}

/** A client that repeats, with the same idempotency key, until some node has answered. */
export class ChaosClient {
  readonly #nodes: readonly ChaosNode[];
  readonly #token: string;
  readonly #random: SeededRandom;
  readonly #someLong: boolean;

  constructor(nodes: readonly ChaosNode[], token: string, random: SeededRandom, someLong: boolean) {
    this.#nodes = nodes;
    this.#token = token;
    this.#random = random;
    this.#someLong = someLong;
  }

  async submit(index: number): Promise<Submitted> {
    const random = this.#random;
    const fails = random.fraction() < 0.1;
    const retry = random.pick([0, 0, 1, 3]) ?? 0;
    const cancelled = random.fraction() < 0.05;
    const program = journallingProgram(Math.floor(random.between(...lengthOf(index, this.#someLong))), fails ? 3 : 0);
    const id = await this.#post(program, retry, `chaos-${index}`);
    if (cancelled) {
      await delay(random.between(0, 2000));
      await this.#until("PUT", `/commands/${id}`, {}, undefined);
    }
    return { id, fails, cancelled };
  }

  /** One whose first attempt outlives the lease of its node and the patience of the others, and which is run again. */
  async submitLong(name: string, ticks: number): Promise<Submitted> {
    const id = await this.#post(journallingProgram(ticks, 0, LATER_TICKS), 1, `long-${name}`);
    return { id, fails: false, cancelled: false };
  }

  async #post(program: string, retry: number, key: string): Promise<number> {
    const body = { command_type: "SparkCommand", language: "python", program, retry };
    const { id } = (await this.#until("POST", "/commands", body, key)) as { id: number }; // §2.2
    return id;
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
