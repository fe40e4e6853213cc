import type { Registry } from "prom-client";
import type { Database } from "../../db/database.ts";
import { writeLease } from "../../processes/runner/lease.ts";
import { monotonicMs } from "../../processes/runner/monotonic.ts";
import { systemClock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import { commandFiles } from "../execution/command-files.ts";
import type { CommandEventSource } from "./command-events.ts";
import type { ProgramIsolation } from "../execution/program-isolation.ts";
import type { NodeRegistration } from "../store/nodes.ts";
import type { ClaimerOptions, SharedMemory, Unready, UseClusters } from "./claimer.ts";
import { Dispatcher } from "./dispatcher.ts";
import type { RunnableKindOf } from "../execution/executor.ts";
import type { NodeWatch } from "./heartbeats.ts";
import { lostAfterMs } from "./lost-runs.ts";
import { memoryNeed, type MemoryNeed, largestBudgetMiB } from "./memory-rules.ts";
import { queueMetrics } from "./queue-metrics.ts";
import { StopMark } from "./stop-mark.ts";
import type { TimelineWatch } from "./timeline-watch.ts";
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
  readonly log: Log;
  readonly registry: Registry;
  readonly settings: QueueSettings;
  readonly node: NodeRegistration;
  readonly nodeWatch: NodeWatch;
  readonly timelineWatch: TimelineWatch;
  readonly events: CommandEventSource;
  readonly leaseFile: string;
  readonly isolation: ProgramIsolation;
  readonly kindOf: RunnableKindOf;
  readonly standbys: ClaimerOptions["standbys"];
  readonly sharedMemory: SharedMemory;
  readonly useClusters: UseClusters;
  /** Whether the node's disk is too full for commands to begin. */
  readonly isDiskLow: () => boolean;
  /** Says how far the account is above its quota on this node's disk; undefined: it is not. */
  readonly diskExcess: (accountId: number) => string | undefined;
}

export interface Queue {
  readonly waitingReason: WaitingReason;
  readonly memoryNeed: MemoryNeed;
  /** Whether this node could write its last heartbeat. */
  hasHeartbeat(): boolean;
  /** The commands that run here now. */
  running(): { id: number; accountId: number }[];
  /** Ends the account's runs as `error` with that cause; they are not tried again. */
  endRunsOf(accountId: number, cause: string): void;
  /** Begins to run commands here. */
  start(): void;
  /** Claims nothing more. Runs go on, unless `endsRuns`. */
  stop(options?: { endsRuns?: boolean }): Promise<void>;
}

/** Puts the parts of the queue together; nothing runs before `start`. */
export function openQueue(options: QueueOptions): Queue {
  const { db, settings, node, nodeWatch, events, kindOf } = options;
  const caps = { perAccount: settings.commandsPerAccount, perCluster: settings.commandsPerCluster };
  const unready = unreadyOrNoDisk(options);
  const dispatcher = new Dispatcher({
    ...options,
    caps,
    accountMemoryMiB: shareOf(settings.accountMemory, node.memoryBudgetMiB),
    wakeNodes: () => events.wakeNodes(),
    metrics: queueMetrics(options.registry, db.system, options.log),
    unready,
    timeoutCheckSeconds: settings.timeoutCheckSeconds,
    leaseSeconds: settings.leaseSeconds,
    filesOf: ({ accountId, id }) => commandFiles(settings.dataDir, accountId, id),
    onEnd: (commandId) => events.noteEnd(commandId),
    now: monotonicMs,
    stopMark: new StopMark(settings.dataDir),
    renewLease: (askedAt) => writeLease(options.leaseFile, { bootId: node.bootId, renewedAtMs: askedAt }),
  });
  events.onWake(() => dispatcher.poke());
  return {
    waitingReason: waitingReasons({
      situation: () => dispatcher.situation(),
      caps,
      clock: systemClock, // the rows have real times
      kindOf,
      unready,
      nodeId: node.id,
    }),
    memoryNeed: memoryNeed(() =>
      largestBudgetMiB(nodeWatch.list(), node.memoryBudgetMiB, lostAfterMs(settings.leaseSeconds)),
    ),
    start: () => dispatcher.start(),
    hasHeartbeat: () => dispatcher.hasHeartbeat,
    running: () => dispatcher.running(),
    endRunsOf: (accountId, cause) => dispatcher.endRunsOf(accountId, cause),
    stop: (how) => dispatcher.stop(how),
  };
}

/** `miB: 0`: no limit. */
type Share = { readonly percent: number } | { readonly miB: number };

function shareOf(share: Share, budgetMiB: number): number {
  if ("percent" in share) return Math.floor((budgetMiB * share.percent) / 100);
  return share.miB === 0 ? Infinity : share.miB;
}

function unreadyOrNoDisk({ isDiskLow, diskExcess }: Pick<QueueOptions, "isDiskLow" | "diskExcess">): Unready {
  const noDisk = (accountId: number): string | null =>
    isDiskLow() ? "the disk of the node is nearly full" : (diskExcess(accountId) ?? null);
  return ({ executor }, cluster) =>
    executor.unready(cluster) ?? (executor.needsNoDisk === true ? null : noDisk(cluster.accountId));
}
