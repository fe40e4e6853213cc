import type { CopyExecutorOptions } from "../commands/copies/copy-executor.ts";
import { filePruner } from "../commands/prune-files.ts";
import { announceAddress } from "../commands/store/nodes.ts";
import type { NodeParts } from "./node.ts";
import type { QueueParts } from "./queue.ts";
import type { FileParts } from "./files.ts";
import type { Services } from "./services.ts";
import type { Sparks } from "./sparks.ts";
import type { Config } from "../config.ts";
import type { PeriodicTask } from "../lib/periodic.ts";
import { bytesPerMiB } from "../lib/size-text.ts";
import { periodicTasks } from "../tasks.ts";

/** The periodic tasks of this node, which listens at `url`. */
export function composeTasks(
  { config, clock, keys, log, diskGuard, nodeId, background: db }: NodeParts,
  sparks: Sparks,
  { journals }: Pick<CopyExecutorOptions, "journals">,
  { clusters, accountDisk, tendApps }: QueueParts,
  { publisher, uploads }: Pick<Services, "publisher"> & Pick<FileParts, "uploads">,
  url: string,
): PeriodicTask[] {
  const { retainResultsDays: resultsDays, retainLogsDays: logsDays } = config;
  const sizeBytes = config.retainSizeMiB * bytesPerMiB;
  const address = addressForNodes(config, url);
  return periodicTasks({
    ...sparks.tasks,
    db,
    keys,
    clock,
    log,
    diskGuard,
    accountDisk,
    clusterLifecycle: clusters.clusterLifecycle,
    tendApps,
    retention: { auditDays: config.retainAuditDays, idempotencyHours: config.retainIdempotencyHours },
    pruneFiles: filePruner({ db, clock, dataDir: config.dataDir, log }, { resultsDays, logsDays, sizeBytes }),
    cleanUpCopies: () => journals.settleAll(),
    removeUnfinishedUploads: () => uploads.removeLeftovers(),
    publish: () => publisher.publishDue(),
    announce: () => announceAddress(db.system, nodeId, address),
  });
}

/** Wildcard addresses: a server can listen on them, but other nodes cannot connect to them. */
const EVERY_ADDRESS = new Set(["0.0.0.0", "[::]"]);

/** The address at which other nodes reach this one. Null: there are no other nodes, or the address is unknown. */
function addressForNodes({ databaseUrl, nodeAddress }: Config, url: string): string | null {
  if (databaseUrl === null) return null;
  return nodeAddress ?? (EVERY_ADDRESS.has(new URL(url).hostname) ? null : url);
}
