import { isoSeconds, type Clock } from "../../lib/clock.ts";
import type { WaitingReason } from "../command.ts";
import type { NodeState } from "../store/nodes.ts";
import type { Caps } from "../store/queue.ts";
import type { QueueSituation } from "./dispatcher.ts";
import type { CommandKind, Executor } from "./executor.ts";
import { laneOf } from "./lane.ts";

export interface WaitingFacts {
  readonly situation: () => QueueSituation;
  readonly caps: Caps;
  readonly clock: Clock;
  readonly executorOf: (command: CommandKind) => Executor;
}

const CLOSED: Record<Exclude<NodeState, "active">, string> = {
  paused: "the node is paused by its operator",
  draining: "the node is being drained by its operator",
  drained: "the node was drained by its operator",
};

/** Why a command waits, as this node saw it at its last look at the queue. Of several reasons the first to go. */
export function waitingReasons({ situation, caps, clock, executorOf }: WaitingFacts): WaitingReason {
  return (row) => {
    const { nextAttemptAt = null } = row;
    if (nextAttemptAt !== null && nextAttemptAt > clock.now()) {
      return `next attempt due at ${isoSeconds(nextAttemptAt)}`;
    }
    const { nodeState, candidates, clusterReasons, plan } = situation();
    if (nodeState !== "active") return CLOSED[nodeState];
    const executor = executorOf(row);
    const unready = executor.unready(row);
    if (unready !== null) return unready;
    const clusterReason = executor.needsNoCluster === true ? undefined : clusterReasons.get(row.clusterId);
    if (clusterReason !== undefined) return clusterReason;
    const inCluster = candidates.filter(({ clusterId }) => clusterId === row.clusterId);
    const [first] = inCluster;
    if (first === undefined || plan.claims.some(({ candidate }) => candidate.id === row.id)) {
      return "it is about to start";
    }
    const clusterCap = first.clusterCap ?? caps.perCluster;
    if (first.clusterRunning >= clusterCap) return `its cluster runs as many commands as it may (${clusterCap})`;
    if (first.accountRunning >= caps.perAccount) {
      return `the account runs as many commands as it may (${caps.perAccount})`;
    }
    const lane = laneOf(row);
    if (inCluster.some((each) => plan.shortOfMemory.includes(each.id) && laneOf(each) === lane)) {
      return "the memory of the node is taken by other commands";
    }
    return "others are before it";
  };
}
