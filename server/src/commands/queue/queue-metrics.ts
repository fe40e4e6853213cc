import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Queryable } from "../../db/database.ts";
import type { Log } from "../../lib/log.ts";
import { readQueueDepth } from "../store/queue-depth.ts";

/** What the queue counts itself; depth and age are asked of the database when somebody looks. */
export interface QueueMetrics {
  ended(commandType: string, outcome: string, seconds: number): void;
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
    ended: (type, outcome, seconds) => durations.observe({ type, outcome }, seconds),
    lostHeartbeat: () => lostHeartbeats.inc(),
    fenceRejected: () => fenceRejections.inc(),
  };
}

function depthGauges(registry: Registry, db: Queryable, log: Log): void {
  const registers = [registry];
  const age = new Gauge({
    name: "headgate_queue_age_seconds",
    help: "How long the command that is due longest has been waiting",
    registers,
  });
  const running = new Gauge({
    name: "headgate_commands_running",
    help: "Commands that run, by cluster",
    labelNames: ["cluster"],
    registers,
  });
  const depth: Gauge = new Gauge({
    name: "headgate_queue_depth",
    help: "Commands that wait, retries included",
    registers,
    async collect() {
      try {
        const found = await readQueueDepth(db);
        this.set(found.waiting);
        age.set(found.oldestSeconds);
        running.reset();
        for (const { clusterId, count } of found.running) running.set({ cluster: String(clusterId) }, count);
      } catch (error) {
        log.debug({ err: error }, "the queue cannot be counted now");
      }
    },
  });
  void depth;
}
