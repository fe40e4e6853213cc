import type { PoolConfig } from "pg";
import { Counter, Gauge, type Registry } from "prom-client";
import { openDatabase, type Database, type DatabaseStats } from "./database.ts";
import { OutageWatch } from "./outage-watch.ts";
import { backgroundWork, requestWork } from "./work-limits.ts";

/** The server's connections, with one pool per kind of work, so that neither waits for the other. */
export interface Databases {
  readonly requests: Database;
  readonly background: Database;
  /** The sum of both pools. */
  stats(): DatabaseStats;
  close(): Promise<void>;
}

export function openDatabases(connection: PoolConfig): Databases {
  const watch = new OutageWatch(connection);
  const requests = openDatabase(connection, { work: requestWork, watch });
  const background = openDatabase(connection, { work: backgroundWork, watch });
  return {
    requests,
    background,
    stats() {
      const [one, other] = [requests.stats(), background.stats()];
      return {
        connections: one.connections + other.connections,
        idle: one.idle + other.idle,
        waiting: one.waiting + other.waiting,
        roundTrips: one.roundTrips + other.roundTrips,
      };
    },
    async close() {
      await Promise.all([requests.close(), background.close()]);
    },
  };
}

/** Usage of the connections, read on each scrape. */
export function databaseMetrics(registry: Registry, db: Pick<Database, "stats">): void {
  const registers: Registry[] = []; // registered below
  const connections = new Gauge({
    name: "headgate_db_connections",
    help: "Open connections to PostgreSQL, by state",
    labelNames: ["state"],
    registers,
    collect() {
      const stats = db.stats();
      this.set({ state: "idle" }, stats.idle);
      this.set({ state: "busy" }, stats.connections - stats.idle);
    },
  });
  const waiting = new Gauge({
    name: "headgate_db_waiting",
    help: "Requests that wait for a connection",
    registers,
    collect() {
      this.set(db.stats().waiting);
    },
  });
  const roundTrips = new Counter({
    name: "headgate_db_round_trips_total",
    help: "Round trips to PostgreSQL",
    registers,
    collect() {
      this.reset();
      this.inc(db.stats().roundTrips);
    },
  });
  for (const metric of [connections, waiting, roundTrips]) registry.registerMetric(metric);
}
