import { isoSeconds, type Clock } from "../../lib/clock.ts";
import type { CommandRow, RunnableCommand } from "../store/command-row.ts";
import type { Caps } from "../store/claims.ts";
import { noNodeReason, otherNodeReason } from "./closed-nodes.ts";
import type { QueueSituation, Unready } from "./claimer.ts";
import type { RunnableKindOf } from "../execution/executor.ts";
import { laneOf } from "./lane.ts";
import type { Shortage } from "./memory-rules.ts";
import { groupNodes } from "./node-watch.ts";

/** Says why a command waits, for people. */
export type WaitingReason = (row: CommandRow) => string;

export interface WaitingFacts {
  /** Undefined: this node has not looked at the queue yet. */
  readonly situation: () => QueueSituation | undefined;
  readonly caps: Caps;
  readonly clock: Clock;
  readonly kindOf: RunnableKindOf;
  readonly unready: Unready;
}

/**
 * Says why a command waits, as this node saw it at its last look at the queue. A node that takes no commands itself
 * gives only reasons that hold for every node: its own memory and Spark do not matter to the others.
 */
export function waitingReasons({ situation, caps, clock, kindOf, unready }: WaitingFacts): WaitingReason {
  return (row) => {
    const { nextAttemptAt = null } = row;
    if (nextAttemptAt !== null && nextAttemptAt > clock.now()) {
      return `next attempt due at ${isoSeconds(nextAttemptAt)}`;
    }
    const seen = situation();
    if (seen === undefined) return "the node is starting";
    const noNode = noNodeReason(groupNodes(seen.nodes));
    if (noNode !== null) return noNode;
    const kind = kindOf(row);
    const unreadyReason = seen.nodeState === "active" ? unready(kind, row) : null;
    if (unreadyReason !== null) return unreadyReason;
    const clusterReason = kind.needsCluster ? seen.clusterReasons.get(row.clusterId) : undefined;
    if (clusterReason !== undefined) return clusterReason;
    const first = seen.candidates.find(({ clusterId }) => clusterId === row.clusterId);
    if (first !== undefined) {
      const clusterCap = first.clusterCap ?? caps.perCluster;
      if (first.clusterRunning >= clusterCap) return `its cluster runs as many commands as it may (${clusterCap})`;
      if (first.accountRunning >= caps.perAccount) {
        return `the account runs as many commands as it may (${caps.perAccount})`;
      }
    }
    if (seen.nodeState !== "active") return otherNodeReason(seen.nodeState);
    return placeInQueue(row, seen, (each) => laneOf(kindOf(each), each));
  };
}

const SHORTAGES: Record<Shortage, string> = {
  memory: "the memory of the node is taken by other commands",
  share: "its account may not take more of the node's memory while other accounts need it",
  node: "it needs more memory than this node has, and waits for a larger one",
};

function placeInQueue(
  row: CommandRow,
  { candidates, plan }: QueueSituation,
  laneOf: (command: RunnableCommand) => string,
): string {
  const lane = laneOf(row);
  const inLane = candidates.filter((each) => each.clusterId === row.clusterId && laneOf(each) === lane);
  const isClaimed = plan.claims.some(({ candidate }) => candidate.id === row.id);
  if (inLane.length === 0 || isClaimed) return "it is about to start";
  const own = plan.shortages.get(row.id);
  const shortage = own ?? inLane.map(({ id }) => plan.shortages.get(id)).find((each) => each !== undefined);
  if (own === undefined && shortage === "node") return "other commands are ahead of it";
  return shortage === undefined ? "other commands are ahead of it" : SHORTAGES[shortage];
}
