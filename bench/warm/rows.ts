import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import type { BenchHeadgate } from "../headgate.ts";
import { median, percentile } from "../measure.ts";
import { bareClient, runBare, sqlCommand } from "./warm-server.ts";

const ROWS = 10_000_000;
const ROUNDS = 3;
const QUERY = `select id, id * 0.5 as half, concat('row ', id) as name from range(${ROWS})`;

/**
 * Ten million rows into the spool, alternating with the raw stream; also the server's memory and its latency meanwhile.
 */
export async function benchRows(headgate: BenchHeadgate): Promise<void> {
  await headgate.run(sqlCommand(QUERY));
  const bare = bareClient(headgate, true);
  const idle = await accountTimes(headgate, delay(5000));
  const [ours, floor]: [number[], number[]] = [[], []];
  const busy: number[] = [];
  const before = residentMiB(headgate.pid);
  let most = before;
  const watch = setInterval(() => (most = Math.max(most, residentMiB(headgate.pid))), 100);
  for (let round = 0; round < ROUNDS; round += 1) {
    let began = performance.now();
    const command = headgate.run(sqlCommand(QUERY));
    busy.push(...(await accountTimes(headgate, command)));
    ours.push(ROWS / ((performance.now() - began) / 1000));
    began = performance.now();
    await runBare(bare, QUERY);
    floor.push(ROWS / ((performance.now() - began) / 1000));
  }
  clearInterval(watch);
  bare.close();
  const ratio = median(ours) / median(floor);
  console.log(
    `${ROWS} rows: ${Math.round(median(ours))} rows/s from submission to done, ${Math.round(median(floor))} rows/s raw, ratio ${ratio.toFixed(2)}`,
  );
  console.log(`… the server grew by ${most - before} MiB, from ${before}`);
  const [p99Busy, p99Idle] = [percentile(busy, 0.99), percentile(idle, 0.99)];
  console.log(
    `… GET account meanwhile: p99 ${p99Busy.toFixed(1)} ms, idle ${p99Idle.toFixed(1)} ms, ratio ${(p99Busy / p99Idle).toFixed(2)}`,
  );
}

/** The times of sequential requests until `end`. */
async function accountTimes({ call }: BenchHeadgate, end: Promise<unknown>): Promise<number[]> {
  const times: number[] = [];
  let isOver = false;
  void end.finally(() => {
    isOver = true;
  });
  while (!isOver) {
    const began = performance.now();
    await call("GET", "/account");
    times.push(performance.now() - began);
    await delay(5);
  }
  await end;
  return times;
}

function residentMiB(pid: number): number {
  const [, pages = "0"] = readFileSync(`/proc/${pid}/statm`, "utf8").split(" ");
  return Math.round((Number(pages) * 4096) / 1024 / 1024);
}
