import { setTimeout as delay } from "node:timers/promises";
import type { Client } from "pg";

/** Counters of the load that a server has put on its database. */
export interface StoreCosts {
  roundTrips: number;
  walFlushes: number;
}

/** The cost of one request, averaged over `count` sequential ones: concurrent commits would share their flushes. */
export async function costOfOne(
  url: string,
  sql: Client,
  count: number,
  send: () => Promise<void>,
): Promise<StoreCosts> {
  const before = await costs(url, sql);
  for (let sent = 0; sent < count; sent += 1) await send();
  const after = await costs(url, sql);
  return {
    roundTrips: (after.roundTrips - before.roundTrips) / count,
    walFlushes: (after.walFlushes - before.walFlushes) / count,
  };
}

async function costs(url: string, sql: Client): Promise<StoreCosts> {
  // An idle session publishes its counters after ten seconds.
  await delay(11_000);
  const metrics = await (await fetch(`${url}/metrics`)).text();
  const roundTrips = Number(/^headgate_db_round_trips_total (\S+)$/m.exec(metrics)?.[1]);
  const { rows } = await sql.query<{ flushes: number }>(
    "select sum(fsyncs)::int as flushes from pg_stat_io where object = 'wal'",
  );
  return { roundTrips, walFlushes: rows[0]?.flushes ?? Number.NaN };
}

export function median(values: readonly number[]): number {
  return percentile(values, 0.5);
}

export function percentile(values: readonly number[], share: number): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length * share)] ?? Number.NaN;
}

/** In milliseconds. */
export async function timed(work: () => Promise<unknown>): Promise<number> {
  const began = performance.now();
  await work();
  return performance.now() - began;
}
