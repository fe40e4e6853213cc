import { endProcessesOfDeletedAccounts } from "../catalog/metastores/end-processes-of-deleted-accounts.ts";
import type { MetastoreDatabases } from "../catalog/metastores/metastore-databases.ts";
import type { Metastores } from "../catalog/metastores/metastores.ts";
import type { StandbyDrivers } from "../commands/programs/standby-drivers.ts";
import type { SqlService } from "../commands/sql/sql-executor.ts";
import { endUnusedProcesses } from "../commands/warm-servers/cluster-control.ts";
import type { Database } from "../db/database.ts";
import type { TaskServices } from "../tasks.ts";

export type SparkTasks = Pick<
  TaskServices,
  "tendMetastores" | "endSilent" | "dropCatalogs" | "fitCatalogConnections" | "endUnusedProcesses"
>;

interface TaskParts {
  readonly databases: MetastoreDatabases;
  readonly metastores: Metastores;
  readonly sql: SqlService;
  readonly standbys: StandbyDrivers;
}

/** The periodic tasks that tend the Spark processes of this node and the databases of their metastores. */
export function sparkTasks(db: Database, { databases, metastores, sql, standbys }: TaskParts): SparkTasks {
  return {
    async tendMetastores() {
      metastores.reviveLost();
      await endProcessesOfDeletedAccounts(db.system, processesOf(sql, standbys, metastores));
      await metastores.evictIdle();
    },
    async endSilent() {
      metastores.replaceSilent();
      sql.servers.endSilent();
    },
    dropCatalogs: () => dropCatalogs(databases),
    fitCatalogConnections: () => databases.fitConnectionLimits(),
    endUnusedProcesses: () => endUnusedProcesses(db.system, [sql.servers, standbys]),
  };
}

function processesOf({ servers }: SqlService, standbys: StandbyDrivers, metastores: Metastores) {
  return [
    { accounts: () => servers.accounts(), stop: (id: number) => servers.stop((each) => each.accountId === id) },
    { accounts: () => standbys.accounts(), stop: (id: number) => standbys.endUnused((each) => each.accountId === id) },
    metastores,
  ];
}

const CATALOG_CONCURRENCY = 16;

async function dropCatalogs(databases: MetastoreDatabases): Promise<void> {
  while ((await databases.dropOrphans(CATALOG_CONCURRENCY)) === CATALOG_CONCURRENCY);
}
