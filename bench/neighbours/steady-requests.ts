import { Agent } from "node:http";
import { setTimeout as delay } from "node:timers/promises";
import { send } from "./send-request.ts";

export interface SteadyTask {
  readonly kind: "steady";
  readonly url: string;
  readonly token: string;
  readonly seconds: number;
}

export interface SteadyResult {
  readonly milliseconds: readonly number[];
  /** Responses other than 200, by status. */
  readonly failures: Readonly<Record<string, number>>;
}

const EVERY_MS = 25;
/** Every eighth request opens a new connection, like a client without keep-alive. */
const FRESH_EVERY = 8;

/** Sends GET account at a steady rate, without waiting for earlier responses. */
export async function requestSteadily({ url, token, seconds }: SteadyTask): Promise<SteadyResult> {
  const milliseconds: number[] = [];
  const failures: Record<string, number> = {};
  const open: Promise<void>[] = [];
  const one = async (agent: Agent | undefined): Promise<void> => {
    const sent = await send(url, { path: "/account", token, ...(agent === undefined ? {} : { agent }) });
    agent?.destroy();
    milliseconds.push(sent.milliseconds);
    if (sent.status !== "200") failures[sent.status] = (failures[sent.status] ?? 0) + 1;
  };
  const began = performance.now();
  for (let index = 0; index * EVERY_MS < seconds * 1000; index += 1) {
    await delay(Math.max(0, began + index * EVERY_MS - performance.now()));
    open.push(one(index % FRESH_EVERY === 0 ? new Agent() : undefined));
  }
  await Promise.all(open);
  return { milliseconds, failures };
}
