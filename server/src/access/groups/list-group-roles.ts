import { Type } from "typebox";
import { operation } from "../operation.ts";
import { Role, roleOf } from "../roles/role.ts";
import { listRolesOfGroup } from "../roles/store.ts";
import { GroupIdParam, groupNamedInPath } from "./group.ts";

export const listGroupRoles = operation({
  id: "group_role_list",
  summary: "List the roles of a group",
  tag: "Groups",
  method: "GET",
  paths: { "v1.2": "/groups/:group_id/roles" },
  access: { permission: { groups: ["system-admin"], role: "group:read" } },
  params: GroupIdParam,
  reply: Type.Object({ roles: Type.Array(Role) }),
  find: groupNamedInPath,

  async handle({ params, reader }) {
    const rows = await listRolesOfGroup(reader, params.group_id);
    return { roles: rows.map(roleOf) };
  },
});
