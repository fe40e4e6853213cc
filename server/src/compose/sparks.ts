import { availableParallelism } from "node:os";
import { join } from "node:path";
import type { PoolConfig } from "pg";
import { sparkStorage } from "../accounts/spark-storage.ts";
import { firstAccountId } from "../accounts/store/operator.ts";
import type { AccountServices } from "../accounts/account-services.ts";
import { AccountCatalogs } from "../catalog/metastores/account-catalogs.ts";
import { MetastoreDatabases } from "../catalog/metastores/metastore-databases.ts";
import { MetastoreReaders } from "../catalog/metastores/metastore-readers.ts";
import type { Metastores } from "../catalog/metastores/metastores.ts";
import { openMetastores, type OpenMetastoresOptions } from "../catalog/metastores/open-metastores.ts";
import { accountPartitions } from "../catalog/refresh/account-partitions.ts";
import type { OpenTablePartitions } from "../catalog/refresh/table-partitions.ts";
import { AccountTables } from "../catalog/tables/account-tables.ts";
import { ExternalMetastores } from "../catalog/tables/external-metastores.ts";
import { sparkCluster } from "../clusters/spark-cluster.ts";
import type { ProgramIsolation } from "../commands/execution/program-isolation.ts";
import { accountIdentity, accountRoster } from "../commands/execution/command-files.ts";
import type { SharedMemory } from "../commands/queue/claimer.ts";
import { noDriver, type ProgramDriver } from "../commands/programs/program-driver.ts";
import { GRACE_SECONDS } from "../commands/execution/runner-run.ts";
import { sparkDriver } from "../commands/programs/spark-driver.ts";
import { StandbyDrivers, type StandbyOptions } from "../commands/programs/standby-drivers.ts";
import { runsForAccount } from "../commands/store/in-use.ts";
import { openSql, type SqlService } from "../commands/sql/sql-executor.ts";
import { sparkContributions } from "./contributions.ts";
import { composeControlGroups, composeSandbox } from "./isolation.ts";
import type { Config } from "../config.ts";
import type { Database } from "../db/database.ts";
import { postgresRoster } from "../db/embedded/cluster.ts";
import type { Allowance } from "../processes/runner/allowance.ts";
import { renewPresence } from "../processes/runner/lease.ts";
import type { OrphanTerms } from "../processes/runner/protocol.ts";
import type { Sandbox } from "../processes/sandbox/sandbox.ts";
import type { ShowProgress } from "../processes/set-up/set-up-step.ts";
import { FormatJars } from "../engines/table-formats/format-jars.ts";
import { hasS3a } from "../engines/spark-home/jvm-parts.ts";
import { ensureSparkHome } from "../engines/spark-home/spark-home.ts";
import { startPythonSetUp, type PythonSetUp } from "../engines/spark-home/python-set-up.ts";
import { startSparkSetUp, type SparkSetUp } from "../engines/spark-home/spark-set-up.ts";
import { monotonicMs } from "../processes/runner/monotonic.ts";
import type { EventLogs } from "../engines/spark-submit/event-log/event-logs.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import type { Log } from "../lib/log.ts";
import { readBootId } from "../lib/process-table.ts";
import { bytesPerMiB } from "../lib/size-text.ts";
import { runAllowance } from "./run-allowance.ts";
import { sparkTasks, type SparkTasks } from "./spark-tasks.ts";

/** The Spark parts of this node: isolation, configuration, drivers, warm servers and metastores. */
export interface Sparks {
  readonly sandbox: Sandbox;
  readonly allowance: Allowance;
  readonly isolation: ProgramIsolation;
  /** Undefined: Spark is not set up on this node. */
  readonly setUp: SparkSetUp | undefined;
  /** Undefined: Spark is not set up on this node. */
  readonly python: PythonSetUp | undefined;
  readonly driver: ProgramDriver;
  readonly standbys: StandbyDrivers;
  readonly runLimits: ReturnType<typeof composeRunLimits>;
  readonly sql: SqlService;
  readonly sharedMemory: SharedMemory;
  readonly orphan: OrphanTerms;
  readonly accountTables: AccountTables;
  readonly openTablePartitions: OpenTablePartitions;
  readonly tasks: SparkTasks;
  /** Ends the processes that would outlive this server. */
  stop(): Promise<void>;
}

export interface SparksOptions {
  readonly config: Config;
  readonly connection: PoolConfig;
  readonly db: Database;
  readonly keys: KeyRing;
  readonly nodeId: string;
  readonly accountSettings: AccountServices["accountSettings"];
  readonly log: Log;
  readonly eventLogs: EventLogs;
  /** Runs programs in place of Spark's driver. */
  readonly driver?: ProgramDriver;
  readonly setsUpSpark: boolean;
  readonly showProgress?: ShowProgress | undefined;
  readonly isIsolated?: boolean;
  /** Aborts the start. */
  readonly signal?: AbortSignal;
  /** Replaces the setting HEADGATE_ORPHAN_MINUTES. */
  readonly orphanSeconds?: number;
}

export async function composeSparks(options: SparksOptions, held: AsyncDisposableStack): Promise<Sparks> {
  const { config, connection, db, keys, log } = options;
  const sandbox = await composeSandbox(options);
  const isolated = options.isIsolated ?? (sandbox.kind === "bubblewrap" || config.isolation === "none");
  const isolation = { isolated, firstAccountId: () => firstAccountId(db.system) };
  const setUp = options.setsUpSpark ? setUpSpark(config, log, options.showProgress) : undefined;
  held.defer(() => setUp?.stop());
  const python = setUp === undefined ? undefined : startPythonSetUp({ ...options, spark: setUp });
  held.defer(() => python?.stop());
  const storageOf = sparkStorage(db, keys, options.accountSettings, () => {
    const spark = setUp?.current();
    return spark?.state !== "ready" || hasS3a(spark.home.classPath);
  });
  const metastoreAccounts = new AccountsOfProcesses();
  const databases = new MetastoreDatabases({
    connection,
    isEmbedded: config.databaseUrl === null,
    accountsInUse: () => metastoreAccounts.list(),
  });
  const catalogs = new AccountCatalogs(db.system, keys);
  const sparkAccounts = new AccountsOfProcesses();
  const isInUse = async (accountId: number): Promise<boolean> =>
    sparkAccounts.list().includes(accountId) || runsForAccount(db.system, options.nodeId, accountId);
  const orphan = await announcePresence(options, held);
  const allowance = runAllowance(config, composeControlGroups(config.runNice, log));
  const engine = { spark: setUp, sandbox, allowance, orphan, log };
  const metastores = composeMetastores(config, { ...engine, catalogs, databases, storageOf, isInUse });
  held.defer(() => metastores.close());
  metastoreAccounts.add(metastores);
  const clusterOf = sparkCluster(db, keys, config);
  const formatJars = new FormatJars({ cacheDir: config.cacheDir, log, now: monotonicMs });
  held.defer(() => formatJars.stop());
  const contributionsOf = sparkContributions({ db, clusterOf, storageOf, metastores, formatJars, setUp });
  const contributions = { contributionsOf, clusterOf };
  const sql = await openSql({ ...leaseOf(config), ...config, ...contributions, ...engine });
  held.defer(() => sql.servers.close());
  const driver =
    options.driver ?? (setUp === undefined ? noDriver : sparkDriver(setUp, contributionsOf, options.eventLogs, python));
  const runLimits = composeRunLimits(config);
  const standbys = composeStandbys({ ...engine, dataDir: config.dataDir, driver }, runLimits);
  held.defer(() => standbys.close());
  sparkAccounts.add(sql.servers);
  sparkAccounts.add(standbys);
  await metastores.adopt();
  const readers = held.adopt(new MetastoreReaders({ databases, catalogs }), (pools) => pools.close());
  const externals = new ExternalMetastores(config.allowedNetworks);
  held.defer(() => externals.close());
  const accountTables = new AccountTables({ system: db.system, readers, externals });
  const openTablePartitions = accountPartitions({ system: db.system, databases, catalogs, readers, externals });
  return {
    accountTables,
    openTablePartitions,
    orphan,
    sandbox,
    allowance,
    isolation,
    setUp,
    python,
    driver,
    standbys,
    runLimits,
    sql,
    sharedMemory: {
      reservedMiB: () => sql.servers.reservedMiB() + metastores.reservedMiB(),
      inUseMiB: () => sql.servers.inUseMiB(),
      evict(neededMiB) {
        sql.servers.evict(neededMiB);
        metastores.evict();
      },
    },
    tasks: sparkTasks(db, { databases, metastores, sql, standbys }),
    async stop() {
      await standbys.close();
      await sql.servers.stop();
      await metastores.stop();
    },
  };
}

/** The accounts that have processes of the added kinds on this node. */
class AccountsOfProcesses {
  readonly #kinds: { accounts(): number[] }[] = [];

  add(kind: { accounts(): number[] }): void {
    this.#kinds.push(kind);
  }

  list(): number[] {
    return this.#kinds.flatMap((kind) => kind.accounts());
  }
}

type MetastoreParts = Pick<
  OpenMetastoresOptions,
  "catalogs" | "spark" | "databases" | "sandbox" | "allowance" | "storageOf" | "isInUse" | "orphan" | "log"
>;

function composeMetastores(config: Config, parts: MetastoreParts): Metastores {
  return openMetastores({
    ...parts,
    ...leaseOf(config),
    leaseSeconds: config.leaseSeconds,
    dataDir: config.dataDir,
    processors: availableParallelism(),
    identityOf: accountIdentity,
    rosterOf: (accountId) => accountRoster(config.dataDir, accountId),
    databaseRoster: config.databaseUrl === null ? postgresRoster(config.dataDir) : null,
  });
}

type StandbyParts = Pick<StandbyOptions, "dataDir" | "driver" | "sandbox" | "allowance" | "orphan" | "log">;

function composeStandbys(parts: StandbyParts, limits: ReturnType<typeof composeRunLimits>): StandbyDrivers {
  const standbys = new StandbyDrivers({
    ...parts,
    limits: { ...limits, graceSeconds: GRACE_SECONDS },
    now: monotonicMs,
  });
  standbys
    .clear()
    .catch((error: unknown) => parts.log.warn({ err: error }, "leftover standby drivers could not be ended"));
  return standbys;
}

/** The limits that runners enforce. */
function composeRunLimits(config: Config) {
  const { leaseSeconds, timeoutCheckSeconds: checkSeconds, logLimitMiB } = config;
  return { ...leaseOf(config), leaseSeconds, checkSeconds, logLimitBytes: logLimitMiB * bytesPerMiB };
}

function setUpSpark(
  { cacheDir, sparkHome, javaHome }: Config,
  log: Log,
  showProgress: ShowProgress | undefined,
): SparkSetUp {
  const homes = { cacheDir, sparkHome: sparkHome ?? undefined, javaHome: javaHome ?? undefined };
  const warn = (message: string): void => log.warn(message);
  return startSparkSetUp((signal, progress) => ensureSparkHome({ ...homes, signal, progress, warn }), {
    log,
    showProgress,
  });
}

/** Starts to signal to runners that this server lives. The returned terms tell them when to end without a server. */
async function announcePresence(
  { config: { dataDir, orphanMinutes }, orphanSeconds = orphanMinutes * 60 }: SparksOptions,
  held: AsyncDisposableStack,
): Promise<OrphanTerms> {
  const presenceFile = join(dataDir, "presence");
  const presence = renewPresence(presenceFile, await readBootId());
  held.defer(() => presence.stop());
  return { presenceFile, afterSeconds: orphanSeconds };
}

/** The node renews this file while it can reach the database; runners watch it. */
export function leaseFile({ dataDir }: Config): string {
  return join(dataDir, "node-lease");
}

/** Null: no other node shares the database, so no run has to end with the lease. */
export function leaseOf(config: Config): { leaseFile: string | null } {
  return { leaseFile: config.databaseUrl === null ? null : leaseFile(config) };
}
