import { Type } from "typebox";
import { notFound } from "../../lib/fault.ts";
import { operation } from "../operation.ts";
import { parseReference, PathReference } from "../reference.ts";
import { Role, roleOf } from "./role.ts";
import { findRole } from "./store.ts";

export const viewRole = operation({
  id: "role_view",
  summary: "View a role",
  tag: "Roles",
  method: "GET",
  paths: { "v1.2": "/roles/:role_id" },
  access: { permission: { groups: ["system-admin"], role: "role:read" } },
  params: Type.Object({ role_id: PathReference }),
  reply: Role,

  async find({ params, reader }) {
    const row = await findRole(reader, parseReference(params.role_id));
    if (row === undefined) throw notFound();
    return row;
  },

  handle: async ({ found }) => roleOf(found),
});
