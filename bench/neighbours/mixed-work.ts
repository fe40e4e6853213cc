import { setTimeout as delay } from "node:timers/promises";
import type { Counts } from "./request-attacks.ts";
import { send, type Sent } from "./send-request.ts";

/** Ordinary work of a busy tenant: clients that submit, wait, and read results, logs, histories and lists. */
export interface MixedTask {
  readonly kind: "mixed";
  readonly url: string;
  readonly tokens: readonly string[];
  /** The number of concurrent clients. */
  readonly parallel: number;
  readonly seconds: number;
}

const LISTS = [
  "/commands?per_page=50",
  "/commands?all_users=1&per_page=100&include_query_properties=true",
  "/accounts/get_users",
  "/users",
  "/groups",
  "/clusters",
];
/** Prints a few hundred lines to the result and to the log. */
const PROGRAM = 'for n in $(seq 300); do echo "line $n of the result"; echo "line $n of the log" >&2; done';
const POLL_MS = 50;
const THINK_MS = 20;

export async function workMixed({ url, tokens, parallel, seconds }: MixedTask): Promise<Counts> {
  const end = performance.now() + seconds * 1000;
  const counts: Counts = {};
  const client = async (index: number): Promise<void> => {
    const token = tokens[index % tokens.length] ?? "";
    const call = async (path: string, body?: object): Promise<Sent> => {
      const content = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
      const sent = await send(url, { path, token, ...content });
      counts[sent.status] = (counts[sent.status] ?? 0) + 1;
      await delay(THINK_MS);
      return sent;
    };
    for (let round = index; performance.now() < end; round += 1) await roundOfWork(call, round, end);
  };
  await Promise.all(Array.from({ length: parallel }, (_, index) => client(index)));
  return counts;
}

type Call = (path: string, body?: object) => Promise<Sent>;

async function roundOfWork(call: Call, round: number, end: number): Promise<void> {
  const submitted = await call("/commands", { command_type: "SparkCommand", language: "python", program: PROGRAM });
  const id = submitted.status === "200" ? (JSON.parse(submitted.text) as { id: number }).id : undefined;
  await call(LISTS[round % LISTS.length] ?? "");
  while (id !== undefined && performance.now() < end) {
    const { status, text } = await call(`/commands/${id}`);
    if (status === "200" && /"status":"(done|error|cancelled)"/.test(text)) break;
    await delay(POLL_MS);
  }
  await call(LISTS[(round + 1) % LISTS.length] ?? "");
  if (id === undefined) return;
  await call(`/commands/${id}/results`);
  await call(`/commands/${id}/logs`);
}
