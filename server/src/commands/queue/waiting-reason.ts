import { isoSeconds, type Clock } from "../../lib/clock.ts";
import type { CommandRow } from "../store/command-row.ts";
import type { Caps } from "../store/claims.ts";
import type { QueueSituation, Unready } from "./claimer.ts";
import type { RunnableKindOf } from "../execution/executor.ts";
import type { Shortage } from "./memory-rules.ts";
import { groupNodes, type NodeGroup, type WatchedNode } from "./heartbeats.ts";
import type { NodeState } from "../store/nodes.ts";

/** Says why a command waits, as text for users. */
export type WaitingReason = (row: CommandRow) => string;

export interface WaitingFacts {
  /** Undefined: this node has not read the queue yet. */
  readonly situation: () => QueueSituation | undefined;
  readonly caps: Caps;
  readonly clock: Clock;
  readonly kindOf: RunnableKindOf;
  readonly unready: Unready;
  /** Of this node. */
  readonly nodeId: string;
}

/**
 * Says why a command waits, as this node saw it when it last polled the queue. A node that takes no commands itself
 * gives only reasons that hold for every node: its own memory and Spark do not matter to the others.
 */
export function waitingReasons({ situation, caps, clock, kindOf, unready, nodeId }: WaitingFacts): WaitingReason {
  return (row) => {
    const { nextAttemptAt = null } = row;
    if (nextAttemptAt !== null && nextAttemptAt > clock.now()) {
      return `next attempt due at ${isoSeconds(nextAttemptAt)}`;
    }
    const seen = situation();
    if (seen === undefined) return "the node is starting";
    const kind = kindOf(row);
    const { onlyNodeId = null } = row;
    const noNode =
      onlyNodeId === null
        ? noNodeReason(groupNodes(seen.nodes))
        : onlyNodeReason(onlyNodeId, nodeId, seen.nodes, kind.executor.localState?.description);
    if (noNode !== null) return noNode;
    const unreadyReason = takesIt(seen.nodeState, onlyNodeId) ? unready(kind, row) : null;
    if (unreadyReason !== null) return unreadyReason;
    const clusterReason = kind.needsCluster ? seen.clusterReasons.get(row.clusterId) : undefined;
    if (clusterReason !== undefined) return clusterReason;
    const first = seen.candidates.find(({ clusterId }) => clusterId === row.clusterId);
    if (first !== undefined) {
      const clusterCap = first.clusterCap ?? caps.perCluster;
      if (first.clusterRunning >= clusterCap) return `its cluster already runs its maximum of ${clusterCap} commands`;
      if (first.accountRunning >= caps.perAccount) {
        return `the account already runs its maximum of ${caps.perAccount} commands`;
      }
    }
    if (seen.nodeState !== "active" && onlyNodeId === null) return otherNodeReason(seen.nodeState);
    return queueReason(row, seen);
  };
}

function takesIt(nodeState: NodeState, onlyNodeId: string | null): boolean {
  return nodeState === "active" || (nodeState === "draining" && onlyNodeId !== null);
}

/** Says why the one node that may run a command does not; null: it is this node, and it takes the command. Pure. */
export function onlyNodeReason(
  onlyNodeId: string,
  ownId: string,
  nodes: readonly WatchedNode[],
  description = "the files of its earlier attempts",
): string | null {
  const node = nodes.find(({ id }) => id === onlyNodeId);
  const reason = `its next attempt has to run on node ${onlyNodeId}, which has ${description}`;
  if (node === undefined) return `${reason} and is no longer registered`;
  if (node.isSilent) return `${reason} and has been silent since ${isoSeconds(node.heartbeatAt)}`;
  if (!takesIt(node.state, onlyNodeId)) return `${reason} and is ${node.state}`;
  return onlyNodeId === ownId ? null : reason;
}

const SHORTAGES: Record<Shortage, string> = {
  memory: "the memory of the node is taken by other commands",
  next: "another command, which has waited more than a minute, is next for the memory of the node",
  share: "its account may not take more of the node's memory while other accounts need it",
  node: "it needs more memory than this node has, and waits for a larger one",
};

function queueReason({ id, clusterId, lane }: CommandRow, { candidates, plan }: QueueSituation): string {
  const inLane = candidates.filter((each) => each.clusterId === clusterId && each.lane === lane);
  const isClaimed = plan.claims.some(({ candidate }) => candidate.id === id);
  if (inLane.length === 0 || isClaimed) return "it is about to start";
  const own = plan.shortages.get(id);
  const shortage = own ?? inLane.map((each) => plan.shortages.get(each.id)).find((each) => each !== undefined);
  if (own === undefined && shortage === "node") return "other commands are ahead of it";
  return shortage === undefined ? "other commands are ahead of it" : SHORTAGES[shortage];
}

type ClosedState = Exclude<NodeState, "active">;

const THE_NODE: Record<ClosedState, string> = {
  paused: "the node is paused by its operator",
  draining: "the node is being drained by its operator",
  drained: "the node was drained by its operator",
};

const SOME_NODES: Record<ClosedState, string> = {
  paused: "paused by the operator",
  draining: "being drained by the operator",
  drained: "drained by the operator",
};

/** Says why no node of the installation takes commands; null: one does. Pure. */
export function noNodeReason(groups: readonly NodeGroup[]): string | null {
  if (groups.some(({ state, isSilent }) => state === "active" && !isSilent)) return null;
  // A drained node that is silent was removed for good.
  const known = groups.filter(({ state, isSilent }) => !(isSilent && state === "drained"));
  const [only] = known;
  if (only === undefined) return "no node is running";
  const count = known.reduce((sum, group) => sum + group.count, 0);
  if (count === 1 && !only.isSilent && only.state !== "active") return THE_NODE[only.state];
  const live = known.flatMap((group) =>
    group.isSilent || group.state === "active" ? [] : [`${group.count} ${SOME_NODES[group.state]}`],
  );
  return `no node takes commands: ${[...live, ...silentNodes(known)].join(", ")}`;
}

/** Says why this node leaves a command to another node. */
function otherNodeReason(state: ClosedState): string {
  return `it waits for another node: this one is ${SOME_NODES[state]}`;
}

function silentNodes(groups: readonly NodeGroup[]): string[] {
  const silent = groups.filter(({ isSilent }) => isSilent);
  if (silent.length === 0) return [];
  const count = silent.reduce((sum, group) => sum + group.count, 0);
  const since = isoSeconds(new Date(Math.max(...silent.map(({ heartbeatAt }) => heartbeatAt.getTime()))));
  return [count === 1 ? `1 silent since ${since}` : `${count} silent, the last of them since ${since}`];
}
