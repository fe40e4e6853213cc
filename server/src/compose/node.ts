import { collectDefaultMetrics, Registry } from "prom-client";
import type { PoolConfig } from "pg";
import packageJson from "../../package.json" with { type: "json" };
import { gatherDenials, type Denials } from "../access/audit/denials.ts";
import type { AccountServices } from "../accounts/account-services.ts";
import { accountStorage } from "../accounts/account-storage.ts";
import type { AccountStorage } from "../accounts/contract.ts";
import { readNode } from "../commands/queue/node-identity.ts";
import { NodeWatch } from "../commands/queue/heartbeats.ts";
import { TimelineWatch } from "../commands/queue/timeline-watch.ts";
import type { NodeRegistration } from "../commands/store/nodes.ts";
import type { Config } from "../config.ts";
import type { Database } from "../db/database.ts";
import { openDatabases, databaseMetrics } from "../db/databases.ts";
import { monotonicMs } from "../processes/runner/monotonic.ts";
import { eventLogs, type EventLogs } from "../engines/spark-submit/event-log/event-logs.ts";
import { systemClock, type Clock } from "../lib/clock.ts";
import { guardDisk, type DiskGuard } from "../lib/disk-guard.ts";
import { openKeyRing, type KeyRing } from "../lib/key-ring.ts";
import type { Log } from "../lib/log.ts";

export interface NodeOptions {
  config: Config;
  connection: PoolConfig;
  log: Log;
  clock?: Clock;
  /** The monotonic clock, in milliseconds, by which the silence of other nodes is measured. */
  silenceClock?: () => number;
}

/** The parts that every other part of a node needs: its databases, keys, identity, disk and metrics. */
export interface NodeParts {
  readonly config: Config;
  readonly connection: PoolConfig;
  readonly log: Log;
  readonly clock: Clock;
  /** For requests. */
  readonly db: Database;
  /** For work that no request waits for. */
  readonly background: Database;
  readonly keys: KeyRing;
  readonly denials: Denials;
  readonly registry: Registry;
  readonly node: NodeRegistration;
  readonly nodeId: string;
  readonly nodeWatch: NodeWatch;
  readonly timelineWatch: TimelineWatch;
  readonly eventLogs: EventLogs;
  readonly diskGuard: DiskGuard;
  readonly accountSettings: AccountServices["accountSettings"];
  readonly storage: AccountStorage;
}

export async function composeNode(options: NodeOptions, held: AsyncDisposableStack): Promise<NodeParts> {
  const { config, connection, log, clock = systemClock, silenceClock = monotonicMs } = options;
  const databases = held.adopt(openDatabases(connection), (opened) => opened.close());
  const { requests: db, background } = databases;
  const keys = openKeyRing(config.keyFile);
  const denials = gatherDenials(background.system, clock, log);
  held.defer(() => denials.flush());
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  databaseMetrics(registry, databases);
  const node = await readNode(config.dataDir, packageJson.version, config.memoryBudgetMiB);
  const diskGuard = guardDisk(config.dataDir, config.lowDiskPercent);
  await diskGuard.check();
  const { dataDir, s3Endpoint, allowedNetworks, defaultFeatures, accountsPerUser } = config;
  const accountSettings = { dataDir, s3Endpoint, allowedNetworks, defaultFeatures, accountsPerUser };
  return {
    config,
    connection,
    log,
    clock,
    db,
    background,
    keys,
    denials,
    registry,
    node,
    nodeId: node.id,
    nodeWatch: new NodeWatch({ db: background.system, ownId: node.id, now: silenceClock }),
    timelineWatch: new TimelineWatch(background, log),
    eventLogs: held.adopt(eventLogs({ log }), (reading) => reading.stop()),
    diskGuard,
    accountSettings,
    storage: accountStorage(db, keys, accountSettings),
  };
}
