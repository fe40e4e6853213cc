import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import { commandFiles } from "../../server/src/commands/execution/command-files.ts";
import type { ScratchStore } from "../../server/test/support/scratch-store.ts";
import { median, percentile } from "../measure.ts";
import { startBenchNode, type BenchNode } from "./bench-node.ts";

const COMMANDS = 200;
const IDLE_STARTS = 100;
/** Prints its start time in milliseconds. */
const STUB = { command_type: "SparkCommand", language: "python", program: "date +%s%3N" };

/** Commands whose program ends at once: the overhead of queue, runner and sandbox, and the time until a start. */
export async function benchQueue(store: ScratchStore): Promise<void> {
  const node = await startBenchNode(store, "queue");
  try {
    await idleStarts(node);
    await throughput(node);
  } finally {
    await node.stop();
  }
}

async function idleStarts(node: BenchNode): Promise<void> {
  const toClaim: number[] = [];
  const toStart: number[] = [];
  const toDone: number[] = [];
  for (let index = 0; index < IDLE_STARTS; index += 1) {
    const sentAt = Date.now();
    const id = await node.submit(STUB);
    await node.get(`/commands/${id}?wait_seconds=60`);
    toDone.push(Date.now() - sentAt);
    toClaim.push((await spawnedAt(node, id)) - sentAt);
    toStart.push(begunAt(node, id) - sentAt);
  }
  const line = (values: number[]): string =>
    `p50 ${Math.round(median(values))} ms, p99 ${Math.round(percentile(values, 0.99))} ms`;
  console.log(`a command on an idle node, from its submission until it is claimed and prepared: ${line(toClaim)}`);
  console.log(`… until its program has begun: ${line(toStart)}`);
  console.log(`… until the client sees that it is done: ${line(toDone)}`);
}

async function spawnedAt({ sql }: BenchNode, id: number): Promise<number> {
  const text = "select extract(epoch from start_time) * 1000 as at from command where id = $1";
  return Number((await sql.query<{ at: string }>(text, [id])).rows[0]?.at);
}

function begunAt({ dataDir, account }: BenchNode, id: number): number {
  return Number(readFileSync(commandFiles(dataDir, account.accountId, id).output(1), "utf8"));
}

async function throughput(node: BenchNode): Promise<void> {
  const began = Date.now();
  await Promise.all(Array.from({ length: COMMANDS }, () => node.submit(STUB)));
  while ((await unfinished(node)) > 0) await delay(100);
  const seconds = (Date.now() - began) / 1000;
  console.log(`${COMMANDS} commands at once: ${(COMMANDS / seconds).toFixed(1)} commands/s`);
}

async function unfinished({ sql }: BenchNode): Promise<number> {
  const text = "select count(*)::int as count from command where status <> 'done'";
  return (await sql.query<{ count: number }>(text)).rows[0]?.count ?? Number.NaN;
}
