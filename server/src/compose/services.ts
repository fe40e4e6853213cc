import { limitsOf, type Limits } from "../access/limits.ts";
import type { WithObjectFinders } from "../access/policy/object-finder.ts";
import type { AccountServices } from "../accounts/account-services.ts";
import { readAccount } from "../accounts/store/account.ts";
import type { AppControl, WithAppControl } from "../apps/app-control.ts";
import { openSensors, type WithSensors } from "../catalog/sensors/open-sensors.ts";
import type { WithAccountTables } from "../catalog/tables/account-tables.ts";
import type { ClusterServices } from "../clusters/cluster-services.ts";
import { clusterFinder } from "../clusters/cluster-finder.ts";
import { addDefaultCluster } from "../clusters/default-cluster.ts";
import { clusterLabels } from "../clusters/unknown-cluster.ts";
import type { WithClusterCommands } from "../commands/contract.ts";
import type { CommandKinds } from "../commands/kinds/command-kinds.ts";
import { outcomeServices, type OutcomeServices } from "../commands/outcome-services.ts";
import { endBetweenAttempts } from "../commands/store/queue.ts";
import type { SubmissionServices } from "../commands/submit-command.ts";
import type { AccountFiles, WithAccountFiles } from "../files/account-files.ts";
import type { WithFolders } from "../folders/contract.ts";
import { folderFinder, folders } from "../folders/find-by-location.ts";
import type { WithFolderContents } from "../notebooks/contract.ts";
import { notebookFinder } from "../notebooks/notebook-finder.ts";
import { SentContents, type WithSentContents } from "../notebooks/sent-contents.ts";
import { folderContents } from "../notebooks/store/folder-contents.ts";
import type { NodeParts } from "./node.ts";
import type { QueueParts } from "./queue.ts";
import type { Sparks } from "./sparks.ts";
import type { Config } from "../config.ts";
import type { Database } from "../db/database.ts";
import { macroSandbox } from "../engines/macro-sandbox/macro-sandbox.ts";
import type { Clock } from "../lib/clock.ts";
import type { KeyRing } from "../lib/key-ring.ts";

/** Everything that the handlers of operations may use. */
export interface Services
  extends
    SubmissionServices,
    OutcomeServices,
    ClusterServices,
    WithClusterCommands,
    WithAppControl,
    WithAccountTables,
    WithSensors,
    WithObjectFinders,
    WithFolders,
    WithFolderContents,
    WithSentContents,
    WithAccountFiles {
  db: Database;
  keys: KeyRing;
  limits: Limits;
  clock: Clock;
  config: Config;
  accountSettings: AccountServices["accountSettings"];
  addAccountDefaults: AccountServices["addAccountDefaults"];
}

/** `appControl` replaces the warm servers of apps. */
export function composeServices(
  node: NodeParts,
  { accountTables, isolation }: Sparks,
  commandKinds: CommandKinds,
  { events, queue, clusters, accountDisk, appServers }: QueueParts,
  { appControl, accountFiles }: { appControl: AppControl | undefined; accountFiles: AccountFiles },
  held: AsyncDisposableStack,
): Services {
  const { config, db, background, keys, clock, log, nodeId, nodeWatch } = node;
  const { diskGuard, accountSettings, storage } = node;
  const { commandTimes, dataDir, inlineResultLimitMiB } = config;
  const { waitingReason, memoryNeed } = queue;
  const services: Services = {
    macroSandbox: held.adopt(macroSandbox(), (sandbox) => sandbox.stop()),
    ...outcomeServices({
      dataDir,
      db,
      background,
      nodeId,
      nodeWatch,
      log,
      commandKinds,
      storage,
      diskGuard,
      inlineResultLimitMiB,
    }),
    ...clusters,
    appControl: appControl ?? appServers,
    db,
    keys,
    limits: limitsOf(config, clock),
    clock,
    config,
    accountSettings,
    addAccountDefaults: addDefaultCluster,
    objectFinders: { cluster: clusterFinder, folder: folderFinder, note: notebookFinder },
    accountStorage: storage,
    refreshEngineOf: async (accountId) => (await readAccount(db.accountReader(accountId))).refreshEngine,
    accountTables,
    sensors: openSensors(accountTables, storage, config.sensorStatus),
    folders,
    folderContents,
    clusterLabels,
    clusterCommands: { endBetweenAttempts },
    sentContents: new SentContents(),
    commandKinds,
    commandEvents: events,
    commandView: { commandTimes, waitingReason },
    memoryNeed,
    isolation,
    accountDisk,
    accountFiles,
  };
  held.defer(() => services.publisher.stop());
  return services;
}
