import { clusterServices, type ClusterServices } from "./clusters/cluster-services.ts";
import type { ClusterControl } from "./clusters/control.ts";
import { AccountDisk } from "./commands/account-disk/account-disk.ts";
import { openQueue, type Queue } from "./commands/queue/open-queue.ts";
import { AppServers } from "./commands/warm/app-servers.ts";
import { clusterControl, type StopStandbys } from "./commands/warm/cluster-control.ts";
import type { KindsOfNode } from "./compose-kinds.ts";
import type { NodeParts } from "./compose-node.ts";
import { leaseFile, type Sparks } from "./compose-sparks.ts";
import { shareOfDisk } from "./run-allowance.ts";

/** The parts that run commands on this node, with the clusters and apps that commands run in. */
export interface QueueParts {
  readonly queue: Queue;
  readonly clusters: ClusterServices;
  /** Measures how much of this node's disk accounts use. */
  readonly accountDisk: AccountDisk;
  readonly appServers: AppServers;
  /** Ends the servers of stopped apps. A failure is logged, and the next call tries again. */
  readonly tendApps: () => Promise<void>;
}

/** `control` replaces what starts and ends clusters. The queue does not run before its `start`. */
export function composeQueue(
  node: NodeParts,
  sparks: Sparks,
  { commandKinds, standbys }: KindsOfNode,
  control: ClusterControl | undefined,
  held: AsyncDisposableStack,
): QueueParts {
  const { config, log, background, diskGuard } = node;
  const { servers } = sparks.sql;
  const clusters = composeClusters(node, sparks, control, () => queue);
  held.defer(() => clusters.clusterLifecycle.stop());
  const quotaBytes = shareOfDisk(config.accountDisk, config.dataDir);
  const accountDisk = held.adopt(
    new AccountDisk({ dataDir: config.dataDir, quotaBytes, queue: () => queue, servers, log }),
    (disk) => disk.stop(),
  );
  const queue: Queue = openQueue({
    ...node,
    ...sparks,
    db: background,
    settings: config,
    isShared: config.databaseUrl !== null,
    leaseFile: leaseFile(config),
    kindOf: (command) => commandKinds.of(command),
    standbys,
    useClusters: (ids) => clusters.clusterLifecycle.use(ids),
    lookAtApps: () => void tendApps(),
    isDiskLow: () => diskGuard.refusal() !== undefined,
    diskExcess: (accountId) => accountDisk.excess(accountId),
  });
  held.defer(() => queue.stop());
  const appServers = composeAppServers(node, sparks, queue);
  const tendApps = (): Promise<void> =>
    appServers
      .look()
      .catch((error: unknown) => log.warn({ err: error }, "the warm servers of apps could not be checked"));
  return { queue, clusters, accountDisk, appServers, tendApps };
}

/** The queue is made after the clusters that it uses. */
function composeClusters(
  { config, background: db, keys, clock, log }: NodeParts,
  { sql: { servers } }: Sparks,
  control: ClusterControl | undefined,
  queue: () => Queue,
): ClusterServices {
  const wake = (): void => queue().events.wake();
  const stopStandbys: StopStandbys = (matches) => queue().standbys.endUnused(matches);
  return clusterServices(config, {
    db,
    keys,
    control: control ?? clusterControl({ db: db.system, servers, stopStandbys, log, wake }),
    clock,
    log,
    onSettled: wake,
  });
}

function composeAppServers(
  { background, nodeId, nodeWatch }: NodeParts,
  { sql: { servers } }: Sparks,
  { events, standbys }: Queue,
): AppServers {
  return new AppServers({
    db: background.system,
    nodeId,
    servers,
    standbys,
    silentNodes: () => nodeWatch.silentNodes(),
    wakeNodes: () => events.appStopped(),
  });
}
