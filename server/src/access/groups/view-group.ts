import { Type } from "typebox";
import { notFound } from "../../lib/fault.ts";
import { operation } from "../operation.ts";
import { parseReference, PathReference } from "../reference.ts";
import { Group, groupOf } from "./group.ts";
import { findGroup } from "./store.ts";

export const viewGroup = operation({
  id: "group_view",
  summary: "View a group",
  tag: "Groups",
  method: "GET",
  paths: { "v1.2": "/groups/:group_id" },
  access: { permission: { groups: ["system-admin"], role: "group:read" } },
  params: Type.Object({ group_id: PathReference }),
  reply: Group,

  async find({ params, reader }) {
    const row = await findGroup(reader, parseReference(params.group_id));
    if (row === undefined) throw notFound("Group", params.group_id);
    return row;
  },

  handle: async ({ found }) => groupOf(found),
});
