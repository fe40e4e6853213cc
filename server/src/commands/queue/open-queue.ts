import type { ClientConfig } from "pg";
import type { Registry } from "prom-client";
import type { Database } from "../../db/database.ts";
import { openNotifications, ownNotifications } from "../../db/notifications.ts";
import { writeLease } from "../../engines/runner/lease.ts";
import { monotonicMs } from "../../engines/runner/monotonic.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { commandFiles } from "../execution/command-files.ts";
import { openCommandEvents, type CommandEvents } from "./command-events.ts";
import type { ProgramIsolation } from "../execution/program-isolation.ts";
import type { NodeRegistration } from "../store/nodes.ts";
import type { PlaceProcesses } from "../warm/end-ended-places.ts";
import type { PlacedProcess, SparkPlace } from "../execution/spark-place.ts";
import { findEnded } from "../store/queue-depth.ts";
import type { SharedMemory, Unready, UseClusters } from "./claimer.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { RunnableKindOf } from "../execution/executor.ts";
import type { NodeWatch } from "./node-watch.ts";
import { lostAfterMs } from "./lost-runs.ts";
import { memoryNeed, type MemoryNeed } from "./memory-need.ts";
import { largestBudgetMiB } from "./node-budgets.ts";
import { queueMetrics } from "./queue-metrics.ts";
import type { StandbyDrivers } from "../programs/standby-drivers.ts";
import { StopMark } from "./stop-mark.ts";
import { waitingReasons, type WaitingReason } from "./waiting-reason.ts";

export interface QueueSettings {
  readonly dataDir: string;
  readonly commandsPerAccount: number;
  readonly commandsPerCluster: number;
  readonly accountMemory: Share;
  readonly timeoutCheckSeconds: number;
  readonly leaseSeconds: number;
}

export interface QueueOptions {
  readonly db: Database;
  readonly connection: ClientConfig;
  readonly log: Log;
  readonly registry: Registry;
  readonly settings: QueueSettings;
  readonly node: NodeRegistration;
  readonly nodeWatch: NodeWatch;
  /** Other nodes may have the same database: then runs end with the lease of their node. */
  readonly isShared: boolean;
  readonly leaseFile: string;
  readonly isolation: ProgramIsolation;
  readonly kindOf: RunnableKindOf;
  /** Undefined: no driver waits on this node. */
  readonly standbys: StandbyDrivers | undefined;
  readonly sharedMemory: SharedMemory;
  readonly useClusters: UseClusters;
  /** Called when an app was stopped, on this node or another. */
  readonly lookAtApps: () => void;
  /** Whether there is too little room for anything to begin. */
  readonly isDiskLow: () => boolean;
  /** How the account is above its quota on this node's disk; undefined: it is not. */
  readonly diskExcess: (accountId: number) => string | undefined;
}

/** The drivers that wait on this node. */
export interface StandbyControl extends PlaceProcesses {
  /** Those for whom one does. */
  accounts(): number[];
  /** Includes the drivers that are still to be started. */
  list(): PlacedProcess[];
  endUnused(matches: (place: SparkPlace, generation: number) => boolean): Promise<void>;
}

export interface Queue {
  readonly events: CommandEvents;
  readonly waitingReason: WaitingReason;
  readonly memoryNeed: MemoryNeed;
  readonly standbys: StandbyControl;
  /** What runs here now. */
  running(): { id: number; accountId: number }[];
  /** As error with that cause; they are not tried again. */
  endRunsOf(accountId: number, cause: string): void;
  /** From now on commands run here. */
  start(): void;
  /** Answers now whoever waits for the end of a command. */
  endWaits(): void;
  /** Leaves alone what runs, unless it shall end too. */
  stop(options?: { endsRuns?: boolean }): Promise<void>;
}

/** Puts the parts of the queue together; nothing runs before `start`. */
export function openQueue(options: QueueOptions): Queue {
  const { db, log, settings, node, isolation, kindOf, standbys } = options;
  const caps = { perAccount: settings.commandsPerAccount, perCluster: settings.commandsPerCluster };
  const unready = unreadyOrNoDisk(options);
  let dispatcher: Dispatcher | undefined;
  const receive = (message: string): void => events.receive(message);
  const notifications = options.isShared
    ? openNotifications(options.connection, log, receive)
    : ownNotifications(receive);
  const events = openCommandEvents({
    findEnded: (ids) => findEnded(db.system, ids),
    poke: () => dispatcher?.poke(),
    lookAtApps: options.lookAtApps,
    publish: (message) => notifications.publish(message),
    log,
  });
  const metrics = queueMetrics(options.registry, db.system, log);
  return {
    events,
    waitingReason: waitingReasons({
      situation: () => dispatcher?.situation(),
      caps,
      clock: systemClock, // the rows' times are real ones
      kindOf,
      unready,
    }),
    memoryNeed: memoryNeed(() =>
      largestBudgetMiB(options.nodeWatch.list(), node.memoryBudgetMiB, lostAfterMs(settings.leaseSeconds)),
    ),
    standbys: {
      accounts: () => standbys?.accounts() ?? [],
      unusedPlaces: () => standbys?.unusedPlaces() ?? [],
      list: () => standbys?.list() ?? [],
      endUnused: async (matches) => standbys?.endUnused(matches),
    },
    start() {
      standbys?.clear().catch((error: unknown) => log.warn({ err: error }, "drivers of before were not ended"));
      dispatcher = new Dispatcher({
        db,
        log,
        node,
        nodeWatch: options.nodeWatch,
        caps,
        accountMemoryMiB: shareOf(settings.accountMemory, node.memoryBudgetMiB),
        wakeNodes: () => events.wakeNodes(),
        metrics,
        kindOf,
        unready,
        isolation,
        timeoutCheckSeconds: settings.timeoutCheckSeconds,
        leaseSeconds: settings.leaseSeconds,
        sharedMemory: options.sharedMemory,
        useClusters: options.useClusters,
        standbys,
        filesOf: ({ accountId, id }) => commandFiles(settings.dataDir, accountId, id),
        onEnd: (commandId) => events.noteEnd(commandId),
        now: monotonicMs,
        stopMark: new StopMark(settings.dataDir),
        renewLease: (askedAt) => writeLease(options.leaseFile, { bootId: node.bootId, renewedAtMs: askedAt }),
      });
    },
    running: () => dispatcher?.running() ?? [],
    endRunsOf: (accountId, cause) => dispatcher?.endRunsOf(accountId, cause),
    endWaits: () => events.close(),
    async stop(options) {
      events.close();
      await dispatcher?.stop(options);
      await standbys?.close();
      await notifications.close();
    },
  };
}

/** 0 as a size: no limit. */
type Share = { readonly percent: number } | { readonly miB: number };

function shareOf(share: Share, budgetMiB: number): number {
  if ("percent" in share) return Math.floor((budgetMiB * share.percent) / 100);
  return share.miB === 0 ? Infinity : share.miB;
}

function unreadyOrNoDisk({ isDiskLow, diskExcess }: Pick<QueueOptions, "isDiskLow" | "diskExcess">): Unready {
  const noDisk = (accountId: number): string | null =>
    isDiskLow() ? "the disk of the node is nearly full" : (diskExcess(accountId) ?? null);
  return ({ executor }, place) =>
    executor.unready(place) ?? (executor.needsNoDisk === true ? null : noDisk(place.accountId));
}
