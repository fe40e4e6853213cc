import { Counter, Gauge, type Registry } from "prom-client";
import type { Database } from "./database.ts";

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
