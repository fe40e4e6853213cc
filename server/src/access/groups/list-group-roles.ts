import { Type } from "typebox";
import { notFound } from "../../http/input.ts";
import { operation } from "../operation.ts";
import { Role, roleOf } from "../roles/role.ts";
import { listRolesOfGroup } from "../roles/store.ts";
import { GroupIdParam } from "./group.ts";
import { findGroup } from "./store.ts";

export const listGroupRoles = operation({
  id: "group_role_list",
  summary: "List the roles of a group",
  tag: "Groups",
  method: "GET",
  paths: { "v1.2": "/groups/:group_id/roles" },
  access: { permission: { groups: ["system-admin"], role: "group:read" } },
  params: GroupIdParam,
  reply: Type.Object({ roles: Type.Array(Role) }),

  async handle({ params, reader }) {
    const [group, rows] = await Promise.all([
      findGroup(reader, { id: params.group_id, name: null }),
      listRolesOfGroup(reader, params.group_id),
    ]);
    if (group === undefined) throw notFound();
    return { roles: rows.map(roleOf) };
  },
});
