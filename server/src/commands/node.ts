import { Type, type Static } from "typebox";
import { OneOf, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import { NODE_STATES, type NodeRow } from "./store/nodes.ts";

/** A running Headgate, as its operator sees it. */
export const NodeObject = Type.Object(
  {
    id: Type.String({ description: "From the node's data directory" }),
    host: Type.String(),
    state: OneOf(NODE_STATES, {
      description: "Only active nodes start commands. A draining node becomes drained when its last command has ended",
    }),
    version: Type.String(),
    running_commands: Type.Integer(),
    memory_budget_mib: Type.Integer(),
    memory_used_mib: Type.Integer(),
    started_at: Timestamp,
    heartbeat_at: Timestamp,
  },
  { title: "Node" },
);

export function nodeObject(row: NodeRow): Static<typeof NodeObject> {
  return {
    id: row.id,
    host: row.host,
    state: row.state,
    version: row.version,
    running_commands: row.running,
    memory_budget_mib: row.memoryBudgetMiB,
    memory_used_mib: row.memoryUsedMiB,
    started_at: isoSeconds(row.startedAt),
    heartbeat_at: isoSeconds(row.heartbeatAt),
  };
}
