import type { PoolConfig } from "pg";
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
