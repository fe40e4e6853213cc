import type { PoolConfig } from "pg";
import { openDatabase, type Database, type DatabaseStats } from "./database.ts";
import { OutageWatch } from "./outage-watch.ts";
import { backgroundWork, requestWork } from "./work-limits.ts";

/** The server's connections, in a pool for each kind of work: neither keeps the other waiting. */
export interface Databases {
  readonly requests: Database;
  readonly background: Database;
  /** Of both together. */
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
