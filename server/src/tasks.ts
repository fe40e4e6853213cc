import { pruneExpired, type Retention } from "./access/retention.ts";
import type { ClusterLifecycle } from "./clusters/lifecycle.ts";
import { maskStoredCopies } from "./commands/credential-masking/mask-stored-copies.ts";
import type { Database } from "./db/database.ts";
import { reseal } from "./db/reseal.ts";
import type { Clock } from "./lib/clock.ts";
import type { DiskGuard } from "./lib/disk-guard.ts";
import type { KeyRing } from "./lib/key-ring.ts";
import type { Log } from "./lib/log.ts";
import type { PeriodicTask } from "./lib/periodic.ts";
import { sealedColumns } from "./sealed-columns.ts";
import { pruneInvitations } from "./users/prune-invitations.ts";

export interface TaskServices {
  db: Database;
  keys: KeyRing;
  clock: Clock;
  log: Log;
  diskGuard: DiskGuard;
  /** Measures the disk usage of accounts on this node. */
  accountDisk: { enforce(): Promise<void> };
  retention: Retention;
  clusterLifecycle: ClusterLifecycle;
  /** Prunes the files of commands on this node. */
  pruneFiles: () => Promise<void>;
  /** Aborts what copies that have ended left unfinished on this node. */
  cleanUpCopies: () => Promise<void>;
  /** Removes what uploads of files have left unfinished in the stores of accounts. */
  removeUnfinishedUploads: () => Promise<void>;
  /** Starts to publish results and logs to the accounts' storage. */
  publish: () => Promise<void>;
  /** Ends metastores that are no longer needed, and processes of deleted accounts. */
  tendMetastores: () => Promise<void>;
  /** Ends JVMs that run but do not respond. Does not wait for the probes it starts, because one may take a minute. */
  endSilent: () => Promise<void>;
  /** Ends the unused processes of terminated clusters and deleted apps on this node. */
  endUnusedProcesses: () => Promise<void>;
  /** Ends the servers of stopped apps on this node and reports the remaining ones. */
  tendApps: () => Promise<void>;
  /** Drops the databases of deleted accounts. */
  dropCatalogs: () => Promise<void>;
  /** Divides PostgreSQL's connections among the metastores, so that enough are left for Headgate. */
  fitCatalogConnections: () => Promise<void>;
  /** Publishes the address of this node to the other nodes. */
  announce: () => Promise<void>;
}

/** The complete list of periodic tasks. */
export function periodicTasks({
  db,
  keys,
  clock,
  log,
  diskGuard,
  accountDisk,
  retention,
  clusterLifecycle,
  pruneFiles,
  cleanUpCopies,
  removeUnfinishedUploads,
  publish,
  announce,
  tendMetastores,
  endSilent,
  endUnusedProcesses,
  tendApps,
  dropCatalogs,
  fitCatalogConnections,
}: TaskServices): PeriodicTask[] {
  return [
    { name: "disk", everySeconds: 5, run: () => diskGuard.check() },
    { name: "account disk", everySeconds: 1, run: () => accountDisk.enforce() },
    // A rotation (admin key-rotate) reaches every node within these seconds; `--retire` waits longer than that.
    { name: "keys", everySeconds: 5, run: async () => keys.reload() },
    {
      name: "reseal",
      everySeconds: 60,
      run: (stopped) => reseal({ system: db.system, keys, columns: sealedColumns }, stopped),
    },
    { name: "mask-copies", everySeconds: 60, run: (stopped) => maskStoredCopies({ db, keys, log }, stopped) },
    { name: "clusters", everySeconds: 5, run: () => clusterLifecycle.reconcile() },
    { name: "metastores", everySeconds: 5, run: tendMetastores },
    { name: "silent servers", everySeconds: 5, run: endSilent },
    { name: "unused processes", everySeconds: 5, run: endUnusedProcesses },
    { name: "app servers", everySeconds: 1, run: tendApps },
    { name: "catalogs", everySeconds: 600, run: dropCatalogs },
    { name: "catalog connections", everySeconds: 60, run: fitCatalogConnections },
    { name: "retention", everySeconds: 600, run: () => pruneExpired(db, clock, retention) },
    { name: "invitations", everySeconds: 600, run: () => pruneInvitations(db, clock) },
    { name: "command files", everySeconds: 600, run: pruneFiles },
    { name: "copies", everySeconds: 10, run: cleanUpCopies },
    { name: "unfinished uploads", everySeconds: 30, run: removeUnfinishedUploads },
    { name: "publish", everySeconds: 1, run: publish },
    { name: "node address", everySeconds: 5, run: announce },
  ];
}
