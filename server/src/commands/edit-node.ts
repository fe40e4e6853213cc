import { Type } from "typebox";
import { operation, type WithDatabase } from "../access/operation.ts";
import { notFound } from "../lib/fault.ts";
import { OneOf } from "../http/schema.ts";
import type { WithCommandEvents } from "./queue/command-events.ts";
import { NodeObject, nodeObject } from "./node.ts";
import { listNodes, ORDERED_STATES, setNodeState } from "./store/nodes.ts";

/** Pauses, drains or resumes a node; for operators. The state survives restarts. */
export const editNode = operation({
  id: "node_edit",
  summary: "Pause, drain or resume a node",
  tag: "Operator",
  method: "PUT",
  paths: { v2: "/nodes/:node_id" },
  access: { permission: "operator" },
  params: Type.Object({
    node_id: Type.String({ pattern: "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$", maxLength: 36 }),
  }),
  body: Type.Object({ state: OneOf(ORDERED_STATES) }),
  example: { body: { state: "active" } },
  reply: NodeObject,
  find: async ({ params }, { db }: WithDatabase & WithCommandEvents) => {
    const [found] = await listNodes(db.system, params.node_id);
    if (found === undefined) throw notFound("Node", params.node_id);
    return found;
  },

  async handle({ found, body, change }, { commandEvents }: WithDatabase & WithCommandEvents) {
    const reply = await change(async (tx, audit) => {
      audit.object = `node/${found.id}`;
      await setNodeState(tx, found.id, body.state);
      return nodeObject({ ...found, state: body.state });
    }, "system");
    commandEvents.wake();
    return reply;
  },
});
