import { listAbandoned, listStranded, type ClaimedCommand, type StrandedCommand } from "../store/claims.ts";
import { release, settle, type SettledCommand } from "../store/queue.ts";
import type { LocalState, RunnableKindOf } from "../execution/executor.ts";
import { endWaiting, type EndServices } from "./end-waiting.ts";
import type { NodeWatch } from "./heartbeats.ts";
import type { QueueMetrics } from "./queue-metrics.ts";
import { logEnd } from "./command-log-lines.ts";
import { settlementOf } from "./settlement.ts";

export interface LostRunsOptions extends EndServices {
  readonly nodeWatch: Pick<NodeWatch, "list" | "silentFor">;
  readonly leaseSeconds: number;
  readonly kindOf: RunnableKindOf;
  readonly metrics: QueueMetrics;
  /** Monotonic milliseconds. */
  readonly now: () => number;
}

/** Time after the lease for runners to end their programs; at most the lease itself. */
const LEASE_MARGIN_SECONDS = 60;
const CHECK_INTERVAL_MS = 5000;

/** How long a node must have been silent before its runs count as lost. */
export function lostAfterMs(leaseSeconds: number): number {
  return (leaseSeconds + Math.min(leaseSeconds, LEASE_MARGIN_SECONDS)) * 1000;
}

/**
 * Settles the runs of nodes that have fallen silent, and ends the commands that only these nodes could continue, or only a
 * drained node, which takes nothing any more.
 */
export class LostRuns {
  readonly #options: LostRunsOptions;
  #checkedAt = -Infinity;

  constructor(options: LostRunsOptions) {
    this.#options = options;
  }

  async settle(): Promise<void> {
    const { db, nodeWatch, leaseSeconds, kindOf, metrics, log, onEnd, now } = this.#options;
    const silent = nodeWatch.silentFor(lostAfterMs(leaseSeconds));
    const gone = nodeWatch.list().filter((node) => silent.includes(node) || node.state === "drained");
    if (gone.length === 0 || now() - this.#checkedAt < CHECK_INTERVAL_MS) return;
    this.#checkedAt = now();
    for (const command of await listAbandoned(db, silent)) {
      log.warn({ command: command.id, node: command.nodeId }, "settling a run of a node that has fallen silent");
      const status = await this.#settleRun(command);
      if (status !== undefined) metrics.lostHeartbeat();
      if (status !== undefined && status !== "running") onEnd(command.id);
    }
    for (const command of await listStranded(db, gone)) {
      await endWaiting(this.#options, command, strandedCause(command, kindOf(command).executor.localState));
    }
  }

  /** Undefined: another node has settled it, or its own node is back. */
  async #settleRun(command: ClaimedCommand & { nodeId: string }): Promise<SettledCommand["status"] | undefined> {
    const { db, log, metrics, kindOf } = this.#options;
    const isWanted = command.status !== "cancelling";
    const { isRestartable = false, localState } = kindOf(command).executor;
    if (command.handle === null || (isWanted && isRestartable)) {
      return release(db, command);
    }
    const lost = { state: "lost", cause: "the node that ran it has fallen silent" } as const;
    const settled = await settle(db, command, settlementOf(command, lost, Infinity), localState !== undefined);
    if (settled !== undefined) {
      metrics.settled(command.commandType, settled);
      logEnd(log, command, settled);
    }
    return settled?.status;
  }
}

const FILES: LocalState = { description: "the files of its earlier attempts", remedy: "Submit it again" };

function strandedCause({ nodeId, isDrained }: StrandedCommand, { description, remedy } = FILES): string {
  const reason = isDrained ? "was drained" : "has fallen silent";
  return `it cannot continue: node ${nodeId}, which has ${description}, ${reason}. ${remedy}`;
}
