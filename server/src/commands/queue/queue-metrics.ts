import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Queryable } from "../../db/database.ts";
import type { Log } from "../../lib/log.ts";
import { type SettledCommand, readQueueDepth, type QueueDepth } from "../store/queue.ts";

/** The counters of the queue. Depth and age are read from the database when metrics are collected. */
export interface QueueMetrics {
  /** Does not count a command that goes on with its next attempt. */
  settled(commandType: string, settled: SettledCommand): void;
  lostHeartbeat(): void;
  fenceRejected(): void;
}

export function queueMetrics(registry: Registry, db: Queryable, log: Log): QueueMetrics {
  const registers = [registry];
  const durations = new Histogram({
    name: "headgate_command_seconds",
    help: "From the first start of a command to its end, by type and outcome",
    labelNames: ["type", "outcome"],
    buckets: [0.1, 0.5, 1, 2, 5, 10, 30, 60, 300, 1800, 7200, 36_000],
    registers,
  });
  const lostHeartbeats = new Counter({
    name: "headgate_queue_lost_heartbeats_total",
    help: "Heartbeats of this node that could not be stored, and runs of silent nodes that it settled",
    registers,
  });
  const fenceRejections = new Counter({
    name: "headgate_queue_fence_rejections_total",
    help: "Writes refused because the command was no longer this node's",
    registers,
  });
  depthGauges(registry, db, log);
  return {
    settled(type, { status, seconds }) {
      if (status !== "running") durations.observe({ type, outcome: status }, seconds ?? 0);
    },
    lostHeartbeat: () => lostHeartbeats.inc(),
    fenceRejected: () => fenceRejections.inc(),
  };
}

/** All gauges of one collection use the same query. */
function depthGauges(registry: Registry, db: Queryable, log: Log): void {
  const registers = [registry];
  const read = readOnce(db, log);
  void new Gauge({
    name: "headgate_queue_depth",
    help: "Commands that wait, retries included",
    registers,
    async collect() {
      this.set((await read())?.waiting ?? NaN);
    },
  });
  void new Gauge({
    name: "headgate_queue_age_seconds",
    help: "How long the command that is due longest has been waiting",
    registers,
    async collect() {
      this.set((await read())?.oldestSeconds ?? NaN);
    },
  });
  void new Gauge({
    name: "headgate_commands_running",
    help: "Commands that run, by cluster",
    labelNames: ["cluster"],
    registers,
    async collect() {
      const found = await read();
      this.reset();
      for (const { clusterId, count } of found?.running ?? []) this.set({ cluster: String(clusterId) }, count);
    },
  });
}

/** Undefined: the database is unreachable; old values are not reported again. */
function readOnce(db: Queryable, log: Log): () => Promise<QueueDepth | undefined> {
  let reading: Promise<QueueDepth | undefined> | undefined;
  const read = async (): Promise<QueueDepth | undefined> => {
    try {
      return await readQueueDepth(db);
    } catch (error) {
      log.debug({ err: error }, "the queue cannot be counted: the database is unreachable");
      return undefined;
    } finally {
      reading = undefined;
    }
  };
  return () => (reading ??= read());
}
