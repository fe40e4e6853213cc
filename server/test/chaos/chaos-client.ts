import { setTimeout as delay } from "node:timers/promises";
import type { ChaosNode } from "./chaos-node.ts";
import { copyArguments } from "./copied-files.ts";
import { journallingProgram } from "./journal.ts";
import type { Submitted } from "./judge.ts";
import { tableName } from "./metastore-tables.ts";
import { renderQuery } from "./query-journal.ts";
import { SeededRandom } from "./seeded-random.ts";

const REQUEST_TIMEOUT_MS = 5000;
/** Longer than any outage of all nodes. */
const PATIENCE_MS = 60_000;
/** The length of later attempts of a long command, in tenths of a second. */
const LATER_TICKS = 10;
export const QUERY_LABEL = "queries";
export const shortProgram = { command_type: "SparkCommand", language: "python", program: journallingProgram(1, 0) };

/**
 * The shortest and longest duration of a command, in tenths of a second. With `someLong`, one command in 16 outlives
 * the lease of a node that is cut off, and usually also the time after which the other node settles it.
 */
function tickRange(index: number, someLong: boolean): [number, number] {
  return someLong && index % 16 === 3 ? [100, 200] : [1, 15];
}

const KINDS: readonly Submitted["kind"][] = ["program", "query", "program", "refresh", "program", "copy"];
/** The program with this index and the query after it always fail and are retried once, whatever the seed. */
const FIRST_SURE_FAILURE = KINDS.length;

/** A client that repeats each request, with the same idempotency key, until a node has answered it. */
export class ChaosClient {
  readonly #nodes: readonly ChaosNode[];
  readonly #token: string;
  readonly #seed: number;
  /** Chooses the nodes that are asked; how often, the timing of a run decides. */
  readonly #nodeChoice: SeededRandom;
  readonly #someLong: boolean;

  constructor(nodes: readonly ChaosNode[], token: string, seed: number, someLong: boolean) {
    this.#nodes = nodes;
    this.#token = token;
    this.#seed = seed;
    this.#nodeChoice = new SeededRandom(seed);
    this.#someLong = someLong;
  }

  /** The seed and the index alone decide what is submitted. */
  async submit(index: number): Promise<Submitted> {
    const random = new SeededRandom(this.#seed + Math.imul(index + 1, 0x9e3779b1));
    const kind = KINDS[index % KINDS.length] ?? "program";
    const isSure = index === FIRST_SURE_FAILURE || index === FIRST_SURE_FAILURE + 1;
    const fails = kind !== "refresh" && (random.fraction() < 0.1 || isSure);
    const retry = kind === "refresh" ? 0 : isSure ? 1 : (random.pick([0, 1, 1, 3]) ?? 0);
    const cancelled = random.fraction() < 0.05 && !isSure;
    const ticks = Math.floor(random.between(...tickRange(index, this.#someLong)));
    const key = `chaos-${index}`;
    const id = await this.#post(bodyOf({ kind, key, ticks, fails, index }), retry, key);
    if (cancelled) {
      await delay(random.between(0, 2000));
      await this.send("PUT", `/commands/${id}`, {});
    }
    return { id, key, kind, fails, retry, cancelled };
  }

  /**
   * Submits a program with one retry. Its first attempt is meant to outlive the lease of its node and the time that the
   * other node waits before it runs the program again.
   */
  async submitLong(name: string, ticks: number): Promise<Submitted> {
    const key = `long-${name}`;
    const program = {
      command_type: "SparkCommand",
      language: "python",
      program: journallingProgram(ticks, 0, LATER_TICKS),
    };
    const id = await this.#post(program, 1, key);
    return { id, key, kind: "program", fails: false, retry: 1, cancelled: false };
  }

  /** Submits a short program. With the key of an earlier attempt to do so, it becomes one command. */
  async submitShort(key: string): Promise<Submitted> {
    const id = await this.#post(shortProgram, 0, key);
    return { id, key, kind: "program", fails: false, retry: 0, cancelled: false };
  }

  async #post(body: object, retry: number, key: string): Promise<number> {
    const whole = retry === 0 ? body : { ...body, retry };
    const { id } = (await this.send("POST", "/commands", whole, key)) as { id: number }; // §2.2
    return id;
  }

  /** Repeats the request until a node answers it. Fails unless the answer is 200. */
  async send(method: string, path: string, body?: object, key?: string): Promise<unknown> {
    const { status, text } = await this.#answered(method, path, body, key);
    if (status !== 200) throw new Error(`${method} ${path}: ${status} ${text}`);
    return JSON.parse(text);
  }

  /** For requests after which the path or location does not exist: 404 means that an unanswered one was carried out. */
  async sendIdempotent(method: string, path: string, body?: object): Promise<void> {
    const { status, text } = await this.#answered(method, path, body);
    if (status !== 200 && status !== 404) throw new Error(`${method} ${path}: ${status} ${text}`);
  }

  /** Returns refusals as well. */
  read(path: string): Promise<Answer> {
    return this.#answered("GET", path);
  }

  /** Repeats the request on randomly picked nodes while the answer is missing, a 5xx or a 409. */
  async #answered(method: string, path: string, body?: object, key?: string): Promise<Answer> {
    const end = performance.now() + PATIENCE_MS;
    for (;;) {
      const answer = await this.#try(method, path, body, key);
      if (answer !== undefined && answer.status < 500 && answer.status !== 409) return answer;
      if (performance.now() > end) throw new Error(`${method} ${path}: ${answer?.status} ${answer?.text}`);
      await delay(100);
    }
  }

  /** Undefined: there was no answer. */
  async #try(method: string, path: string, body?: object, key?: string): Promise<Answer | undefined> {
    const url = this.#nodeChoice.pick(this.#nodes)?.url;
    if (url === undefined) return undefined;
    const headers = {
      "X-AUTH-TOKEN": this.#token,
      "Content-Type": "application/json",
      ...(key === undefined ? {} : { "Idempotency-Key": key }),
    };
    const signal = AbortSignal.timeout(REQUEST_TIMEOUT_MS);
    const content = body === undefined ? {} : { body: JSON.stringify(body) };
    try {
      const response = await fetch(`${url}${path.startsWith("/api/") ? path : `/api/v1.2${path}`}`, {
        method,
        headers,
        signal,
        ...content,
      });
      return { status: response.status, text: await response.text() };
    } catch {
      return undefined;
    }
  }
}

interface Answer {
  readonly status: number;
  readonly text: string;
}

interface Wanted {
  readonly kind: Submitted["kind"];
  readonly key: string;
  readonly ticks: number;
  readonly fails: boolean;
  readonly index: number;
}

function bodyOf({ kind, key, ticks, fails, index }: Wanted): object {
  switch (kind) {
    case "program":
      return { command_type: "SparkCommand", language: "python", program: journallingProgram(ticks, fails ? 3 : 0) };
    case "query":
      return { command_type: "SparkCommand", sql: renderQuery({ key, ticks, fails }), label: QUERY_LABEL };
    case "refresh":
      return { template: "s3import", db_name: "default", hive_table: tableName(index + 1) };
    case "copy":
      return { command_type: "HadoopCommand", sub_command: "s3distcp", sub_command_args: copyArguments(key, fails) };
  }
}
