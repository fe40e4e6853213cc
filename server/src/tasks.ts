import { keepRetention, type Retention } from "./access/retention.ts";
import type { Database } from "./db/database.ts";
import type { Clock } from "./lib/clock.ts";
import type { DiskGuard } from "./lib/disk-guard.ts";
import type { PeriodicTask } from "./lib/periodic.ts";

export interface TaskServices {
  db: Database;
  clock: Clock;
  diskGuard: DiskGuard;
  retention: Retention;
}

/** The whole list of periodic tasks. */
export function periodicTasks({ db, clock, diskGuard, retention }: TaskServices): PeriodicTask[] {
  return [
    { name: "disk", everySeconds: 5, run: () => diskGuard.check() },
    { name: "retention", everySeconds: 600, run: () => keepRetention(db, clock, retention) },
  ];
}
