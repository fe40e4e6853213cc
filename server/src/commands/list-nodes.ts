import { Type } from "typebox";
import { operation, type WithDatabase } from "../access/operation.ts";
import { NodeObject, nodeObject } from "./node.ts";
import { listNodes as readNodes } from "./store/nodes.ts";

/** The nodes of the installation and their load; for operators. Not paged, because there are few of them. */
export const listNodes = operation({
  id: "node_list",
  summary: "List the nodes of the installation",
  tag: "Operator",
  method: "GET",
  paths: { v2: "/nodes" },
  access: { permission: "operator" },
  reply: Type.Object({ nodes: Type.Array(NodeObject) }),

  async handle(_request, { db }: WithDatabase) {
    return { nodes: (await readNodes(db.system)).map(nodeObject) };
  },
});
