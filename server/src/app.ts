import { collectDefaultMetrics, Registry } from "prom-client";
import type { FastifyInstance } from "fastify";
import type { PoolConfig } from "pg";
import { gatherDenials, type Denials } from "./access/audit/denials.ts";
import { accessGate, type Admission } from "./access/gate.ts";
import { limitsOf, type Limits } from "./access/limits.ts";
import type { Admitted, OperationAccess } from "./access/operation.ts";
import type { AccountServices } from "./accounts/account-services.ts";
import { accountStorage } from "./accounts/account-storage.ts";
import { readAccount } from "./accounts/store/account.ts";
import type { AppControl, WithAppControl } from "./apps/app-control.ts";
import { accountRefresh } from "./catalog/refresh/refresh-account-table.ts";
import { openSensors, type WithSensors } from "./catalog/sensors/open-sensors.ts";
import type { WithAccountTables } from "./catalog/tables/account-tables.ts";
import { clusterServices, type ClusterServices } from "./clusters/cluster-services.ts";
import type { ClusterControl } from "./clusters/control.ts";
import { addDefaultCluster } from "./clusters/default-cluster.ts";
import { AccountDisk } from "./commands/account-disk/account-disk.ts";
import { outcomeServices, type OutcomeServices } from "./commands/outcome-services.ts";
import { fileKeeper } from "./commands/queue/keep-files.ts";
import { readNode } from "./commands/queue/node-identity.ts";
import { NodeWatch } from "./commands/queue/node-watch.ts";
import { announceAddress } from "./commands/store/nodes.ts";
import { openQueue, type Queue, type QueueOptions } from "./commands/queue/open-queue.ts";
import { type ProgramDriver } from "./commands/queue/program-driver.ts";
import type { SubmissionServices } from "./commands/submit-command.ts";
import { AppServers } from "./commands/warm/app-servers.ts";
import { clusterControl, type StopStandbys } from "./commands/warm/cluster-control.ts";
import type { WarmServers } from "./commands/warm/warm-servers.ts";
import { composeSparks, leaseFile, type SparkTasks } from "./compose-sparks.ts";
import type { Config } from "./config.ts";
import type { Database } from "./db/database.ts";
import { openDatabases } from "./db/databases.ts";
import { databaseMetrics } from "./db/metrics.ts";
import { migrationState } from "./db/migrate.ts";
import { macroSandbox } from "./engines/macro-sandbox/macro-sandbox.ts";
import { monotonicMs } from "./engines/runner/monotonic.ts";
import type { ShowProgress } from "./engines/set-up/set-up-step.ts";
import { type SparkSetUp } from "./engines/spark-home/spark-set-up.ts";
import { eventLogs } from "./engines/spark-submit/event-log/event-logs.ts";
import { listen, type Listening, type ListeningSocket } from "./http/listen.ts";
import { httpMetrics } from "./http/metrics.ts";
import type { ReadinessParts } from "./http/readiness.ts";
import { buildServer } from "./http/server.ts";
import { systemClock, type Clock } from "./lib/clock.ts";
import { guardDisk, type DiskGuard } from "./lib/disk-guard.ts";
import { openKeyRing } from "./lib/key-file.ts";
import type { KeyRing } from "./lib/key-ring.ts";
import type { Log } from "./lib/log.ts";
import { runPeriodically, type RunningTasks } from "./lib/periodic.ts";
import { headgateOpenApi } from "./openapi-document.ts";
import { endpoints } from "./routes.ts";
import { shareOfDisk } from "./run-allowance.ts";
import { periodicTasks, type TaskServices } from "./tasks.ts";

/**
 * The composition root: the only place that constructs things. It takes a store that is already migrated and gives a
 * server that listens; `main.ts` decides where the store comes from, tests hand in one of their own.
 */
export interface Services
  extends SubmissionServices, OutcomeServices, ClusterServices, WithAppControl, WithAccountTables, WithSensors {
  db: Database;
  keys: KeyRing;
  limits: Limits;
  clock: Clock;
  config: Config;
  accountSettings: AccountServices["accountSettings"];
  furnishAccount: AccountServices["furnishAccount"];
}

export interface App {
  url: string;
  services: Services;
  /**
   * Drains requests, then closes the store. `hurry` ends the waiting for clients. Programs, warm servers and what else
   * outlives us are left alone, unless everything shall end.
   */
  stop(hurry?: AbortSignal, options?: { everything?: boolean }): Promise<void>;
}

export interface AppOptions {
  config: Config;
  connection: PoolConfig;
  log: Log;
  clock?: Clock;
  /** What runs programs instead of Spark. */
  driver?: ProgramDriver;
  /** What starts and ends clusters. */
  clusterControl?: ClusterControl;
  /** The warm servers of apps. */
  appControl?: AppControl;
  /** Shows the progress of Spark's set-up on a terminal. Undefined: the steps are logged. */
  showProgress?: ShowProgress | undefined;
  /** Whether Spark is found or installed, in the background; without it and without a driver programs wait. */
  setsUpSpark?: boolean;
  /** Whether something keeps programs of different accounts apart. */
  isIsolated?: boolean;
  /** Replaces the setting HEADGATE_ORPHAN_MINUTES. */
  orphanSeconds?: number;
  /** The monotonic clock, in milliseconds, by which the silence of other nodes is measured. */
  silenceClock?: () => number;
  /** Whether the embedded PostgreSQL is up, where there is one. */
  storeHealthy?: () => boolean;
  /** To listen on, in place of the host and port of the settings. */
  sockets?: readonly ListeningSocket[] | undefined;
  /** Aborts the start. */
  signal?: AbortSignal;
}

export async function startApp(options: AppOptions): Promise<App> {
  const held = new AsyncDisposableStack();
  try {
    return await compose(options, held);
  } catch (error) {
    // Whatever keeps us from starting: nothing stays behind.
    await held.disposeAsync();
    throw error;
  }
}

async function compose(options: AppOptions, held: AsyncDisposableStack): Promise<App> {
  const { config, connection, log, clock = systemClock, storeHealthy = () => true, setsUpSpark = false } = options;
  const databases = held.adopt(openDatabases(connection), (opened) => opened.close());
  const { requests: db, background } = databases;
  const keys = openKeyRing(config.keyFile);
  const denials = gatherDenials(background.system, clock, log);
  held.defer(() => denials.flush());
  const limits = limitsOf(config, clock);
  const { dataDir, s3Endpoint, allowedNetworks, defaultFeatures, accountsPerUser } = config;
  const accountSettings = { dataDir, s3Endpoint, allowedNetworks, defaultFeatures, accountsPerUser };
  const registry = openRegistry(databases);
  const node = await readNode(config.dataDir, headgateOpenApi().info.version, config.memoryBudgetMiB);
  const watch = watchNodes(background, node.id, options);
  const standbys = (): Queue["standbys"] => queue.standbys;
  const logs = held.adopt(eventLogs({ log }), (reading) => reading.stop());
  const store = { connection, db: background, keys, nodeId: node.id, accountSettings };
  const sparks = await composeSparks({ ...options, ...store, setsUpSpark, standbys, eventLogs: logs }, held);
  const { sql, isolation } = sparks;
  const diskGuard = guardDisk(config.dataDir, config.lowDiskPercent);
  await diskGuard.check();
  const wake = (): void => queue.events.wake();
  const stopStandbys: StopStandbys = (matches) => queue.standbys.endUnused(matches);
  const control =
    options.clusterControl ?? clusterControl({ db: background.system, servers: sql.servers, stopStandbys, log, wake });
  const clusters = clusterServices(config, { db: background, keys, control, clock, log, settled: wake });
  held.defer(() => clusters.clusterLifecycle.stop());
  const storage = accountStorage(db, keys, accountSettings);
  const parts = { ...sparks, ...watch, connection, db: background, log, registry, node };
  const quota = { quotaBytes: shareOfDisk(config.accountDisk, dataDir), queue: () => queue, servers: sql.servers };
  const accountDisk = held.adopt(new AccountDisk({ dataDir, ...quota, log }), (disk) => disk.stop());
  const queue = composeQueue(config, {
    ...parts,
    sql: sql.executor,
    refreshTable: accountRefresh({ ...sparks, storage }),
    useClusters: (ids) => clusters.clusterLifecycle.use(ids),
    lookAtApps: () => void tendApps(),
    ...roomOnDisk(diskGuard, accountDisk),
  });
  held.defer(() => queue.stop());
  const appServers = composeAppServers({ db: background, ...watch, servers: sql.servers, queue });
  const tendApps = (): Promise<void> => lookAtApps(appServers, log);
  const macros = held.adopt(macroSandbox(), (sandbox) => sandbox.stop());
  const services: Services = {
    ...outcomeServices({ dataDir, db, background, ...watch, log, eventLogs: logs, storage, diskGuard }),
    ...clusters,
    appControl: options.appControl ?? appServers,
    db,
    keys,
    limits,
    clock,
    config,
    accountSettings,
    furnishAccount: addDefaultCluster,
    accountStorage: storage,
    refreshEngineOf: async (accountId) => (await readAccount(db.accountReader(accountId))).refreshEngine,
    accountTables: sparks.accountTables,
    sensors: openSensors(sparks.accountTables, storage),
    macroSandbox: macros,
    ...queueServices(queue, config),
    isolation,
    accountDisk,
  };
  held.defer(() => services.resultRenderer.stop());
  held.defer(() => services.publisher.stop());

  const readiness = readinessParts(db, diskGuard, storeHealthy, sparks.setUp);
  const server = await openServer(config, { services, denials, log, registry, diskGuard, readiness });
  await watch.nodeWatch.look(); // a submission is judged by the budgets of all nodes
  const listening = await listen(server, { ...config, sockets: options.sockets });
  queue.start();
  const ours = { db: background, tendApps, diskGuard, nodeId: node.id, url: listening.url };
  const tasks = startTasks(config, { ...services, ...sparks.tasks, ...ours }, log);
  held.defer(() => tasks.stop());
  const release = held.move();

  return {
    url: listening.url,
    services,
    stop: (hurry, { everything = false } = {}) =>
      stopApp({ services, queue, listening, sparks, tendApps, release }, hurry, everything),
  };
}

function watchNodes({ system }: Database, nodeId: string, { silenceClock = monotonicMs }: AppOptions) {
  return { nodeId, nodeWatch: new NodeWatch({ db: system, ownId: nodeId, now: silenceClock }) };
}

function queueServices({ events, waitingReason, memoryNeed }: Queue, { commandTimes }: Config) {
  return { commandEvents: events, commandView: { commandTimes, waitingReason }, memoryNeed };
}

interface StoppedParts {
  readonly services: Services;
  readonly queue: Queue;
  readonly listening: Listening;
  readonly sparks: { stop(): Promise<void> };
  readonly tendApps: () => Promise<void>;
  readonly release: AsyncDisposableStack;
}

async function stopApp(parts: StoppedParts, hurry: AbortSignal | undefined, everything: boolean): Promise<void> {
  const { services, queue, listening, sparks, tendApps, release } = parts;
  queue.endWaits();
  const published = services.publisher.stop();
  await listening.drain(hurry);
  await published;
  if (everything) {
    await queue.stop({ endsRuns: true });
    await sparks.stop();
    await tendApps(); // tells the other nodes that no server is left here
  }
  await release.disposeAsync();
}

function openRegistry(db: Pick<Database, "stats">): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  databaseMetrics(registry, db);
  return registry;
}

interface ServerParts {
  services: Services;
  denials: Denials;
  log: Log;
  registry: Registry;
  diskGuard: DiskGuard;
  readiness: ReadinessParts;
}

function openServer(config: Config, parts: ServerParts): Promise<FastifyInstance> {
  const { services, denials, log, registry, diskGuard, readiness } = parts;
  return buildServer<OperationAccess, Admission, Admitted, Services>({
    endpoints,
    services,
    gate: accessGate({ ...services, denials, log }),
    log,
    identifierPrefix: config.identifierPrefix,
    trustedProxies: config.trustedProxies,
    connections: config.connections,
    bodyLimits: { accountBytes: config.accountBodiesMiB * MIB, nodeBytes: config.nodeBodiesMiB * MIB },
    metrics: httpMetrics(registry),
    writesRefused: () => diskGuard.refusal(),
    system: { registry, openApi: headgateOpenApi, readingOrder: endpoints.map(({ id }) => id), readiness },
  });
}

const MIB = 1024 * 1024;

/** To listen on, but not to be reached at. */
const EVERY_ADDRESS = new Set(["0.0.0.0", "::"]);

interface TaskParts
  extends
    Pick<TaskServices, "db" | "keys" | "clock" | "diskGuard" | "accountDisk" | "clusterLifecycle" | "tendApps">,
    SparkTasks,
    Pick<OutcomeServices, "publisher"> {
  nodeId: string;
  /** Where this node listens. */
  url: string;
}

function startTasks(config: Config, parts: TaskParts, log: Log): RunningTasks {
  const { retainAuditDays: auditDays, retainIdempotencyHours: idempotencyHours } = config;
  const { retainResultsDays: resultsDays, retainLogsDays: logsDays } = config;
  const sizeBytes = config.retainSizeMiB * MIB;
  const keepFiles = fileKeeper(parts.db, parts.clock, config.dataDir, { resultsDays, logsDays, sizeBytes });
  const retention = { auditDays, idempotencyHours };
  const { publisher, nodeId, url } = parts;
  const address = config.nodeAddress ?? (EVERY_ADDRESS.has(config.host) ? null : url);
  return runPeriodically(
    periodicTasks({
      ...parts,
      log,
      retention,
      keepFiles,
      publish: () => publisher.look(),
      announce: () => announceAddress(parts.db.system, nodeId, config.databaseUrl === null ? null : address),
    }),
    log,
  );
}

interface AppServerParts {
  db: Database;
  nodeId: string;
  nodeWatch: NodeWatch;
  servers: WarmServers;
  queue: Queue;
}

function roomOnDisk(guard: DiskGuard, disk: AccountDisk): Pick<QueueOptions, "isDiskLow" | "diskExcess"> {
  return { isDiskLow: () => guard.refusal() !== undefined, diskExcess: (accountId) => disk.excess(accountId) };
}

async function lookAtApps(servers: AppServers, log: Log): Promise<void> {
  await servers
    .look()
    .catch((error: unknown) => log.warn({ err: error }, "the warm servers of apps could not be checked"));
}

function composeAppServers({ db, nodeId, nodeWatch, servers, queue }: AppServerParts): AppServers {
  const wakeNodes = (): void => queue.events.appStopped();
  const silentNodes = (): string[] => nodeWatch.silentNodes();
  return new AppServers({ db: db.system, nodeId, servers, standbys: queue.standbys, silentNodes, wakeNodes });
}

type QueueParts = Omit<QueueOptions, "settings" | "isShared" | "leaseFile">;

function composeQueue(config: Config, parts: QueueParts): Queue {
  return openQueue({
    ...parts,
    settings: config,
    isShared: config.databaseUrl !== null,
    leaseFile: leaseFile(config),
  });
}

function readinessParts(
  db: Database,
  diskGuard: DiskGuard,
  storeHealthy: () => boolean,
  spark: SparkSetUp | undefined,
): ReadinessParts {
  // Being set up is no reason to keep requests away: commands wait for it and say so.
  const engine = (setUp: SparkSetUp): ReadinessParts => ({
    spark: () => {
      const { state, detail } = setUp.current();
      return Promise.resolve({ ok: state !== "failed", detail });
    },
  });
  return {
    ...(spark === undefined ? {} : engine(spark)),
    async store() {
      if (!storeHealthy()) return { ok: false, detail: "the embedded PostgreSQL is down" };
      await db.system.query("select 1");
      return { ok: true, detail: "answers" };
    },
    async migrations() {
      const { applied, known } = await migrationState(db.system);
      return { ok: applied === known, detail: `${applied} of ${known} applied` };
    },
    disk: () =>
      Promise.resolve({
        ok: diskGuard.refusal() === undefined,
        detail: `${Math.floor(diskGuard.freePercent())} % free`,
      }),
  };
}
