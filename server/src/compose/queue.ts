import { metastoreFailure } from "../catalog/tables/metastore-failure.ts";
import { clusterServices, type ClusterServices } from "../clusters/cluster-services.ts";
import type { HasSchema } from "../clusters/table-formats.ts";
import type { ClusterControl } from "../clusters/control.ts";
import { AccountDisk } from "../commands/account-disk/account-disk.ts";
import type { CommandKinds } from "../commands/kinds/command-kinds.ts";
import { openCommandEvents, type CommandEventSource } from "../commands/queue/command-events.ts";
import { openQueue, type Queue } from "../commands/queue/open-queue.ts";
import { findEnded } from "../commands/store/outcome.ts";
import { AppServers } from "../commands/warm-servers/app-servers.ts";
import { clusterControl } from "../commands/warm-servers/cluster-control.ts";
import type { NodeParts } from "./node.ts";
import { leaseFile, type Sparks } from "./sparks.ts";
import { openNotifications, ownNotifications } from "../db/notifications.ts";
import { shareOfDisk } from "./run-allowance.ts";

/** The parts that run commands on this node, with the clusters and apps that commands run in. */
export interface QueueParts {
  readonly events: CommandEventSource;
  readonly queue: Queue;
  readonly clusters: ClusterServices;
  /** Measures how much of this node's disk accounts use. */
  readonly accountDisk: AccountDisk;
  readonly appServers: AppServers;
  /** Ends the servers of stopped apps. A failure is logged, and the next call tries again. */
  readonly tendApps: () => Promise<void>;
}

/** `control` replaces the product's own control of clusters. The queue does not run before its `start`. */
export function composeQueue(
  node: NodeParts,
  sparks: Sparks,
  commandKinds: CommandKinds,
  control: ClusterControl | undefined,
  held: AsyncDisposableStack,
): QueueParts {
  const { config, log, background: db, diskGuard } = node;
  const { servers } = sparks.sql;
  const events = held.adopt(composeEvents(node), (each) => each.close());
  const clusters = composeClusters(node, sparks, control, events);
  held.defer(() => clusters.clusterLifecycle.stop());
  const quotaBytes = shareOfDisk(config.accountDisk, config.dataDir);
  const accountDisk = held.adopt(
    new AccountDisk({ dataDir: config.dataDir, quotaBytes, servers, commands: () => queue, log }),
    (disk) => disk.stop(),
  );
  const queue: Queue = openQueue({
    ...node,
    ...sparks,
    db,
    events,
    settings: config,
    leaseFile: leaseFile(config),
    kindOf: (command) => commandKinds.of(command),
    useClusters: (ids) => clusters.clusterLifecycle.use(ids),
    isDiskLow: () => diskGuard.refusal() !== undefined,
    diskExcess: (accountId) => accountDisk.excess(accountId),
  });
  held.defer(() => queue.stop());
  const appServers = composeAppServers(node, sparks, events);
  const tendApps = (): Promise<void> =>
    appServers
      .reconcile()
      .catch((error: unknown) => log.warn({ err: error }, "the warm servers of apps could not be checked"));
  events.onAppStopped(() => void tendApps());
  return { events, queue, clusters, accountDisk, appServers, tendApps };
}

function composeEvents({ config, connection, background, log }: NodeParts): CommandEventSource {
  return openCommandEvents({
    findEnded: (ids) => findEnded(background.system, ids),
    connect: (receive) =>
      config.databaseUrl === null ? ownNotifications(receive) : openNotifications(connection, log, receive),
    log,
  });
}

function composeClusters(
  { config, background: db, keys, clock, log }: NodeParts,
  { sql: { servers }, standbys, accountTables }: Sparks,
  control: ClusterControl | undefined,
  events: CommandEventSource,
): ClusterServices {
  const wake = (): void => events.wake();
  const hasSchema: HasSchema = async (accountId, schema) => {
    try {
      return (await (await accountTables.of(accountId)).tableNames(schema)) !== undefined;
    } catch (error) {
      throw metastoreFailure(error);
    }
  };
  return clusterServices(config, hasSchema, {
    db,
    keys,
    control: control ?? clusterControl({ db: db.system, servers, standbys, log, wake }),
    clock,
    log,
    onSettled: wake,
  });
}

function composeAppServers(
  { background, nodeId, nodeWatch }: NodeParts,
  { sql: { servers }, standbys }: Sparks,
  events: CommandEventSource,
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
