import { isoSeconds } from "../../lib/clock.ts";
import type { NodeState } from "../store/nodes.ts";
import type { NodeGroup } from "./node-watch.ts";

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
export function otherNodeReason(state: ClosedState): string {
  return `it waits for another node: this one is ${SOME_NODES[state]}`;
}

function silentNodes(groups: readonly NodeGroup[]): string[] {
  const silent = groups.filter(({ isSilent }) => isSilent);
  if (silent.length === 0) return [];
  const count = silent.reduce((sum, group) => sum + group.count, 0);
  const since = isoSeconds(new Date(Math.max(...silent.map(({ heartbeatAt }) => heartbeatAt.getTime()))));
  return [count === 1 ? `1 silent since ${since}` : `${count} silent, the last of them since ${since}`];
}
