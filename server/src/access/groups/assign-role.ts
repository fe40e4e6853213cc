import { operation } from "../operation.ts";
import { changeRoles, findGroupAndRole, GroupRoleParams } from "./change-roles.ts";
import { DoneReply } from "./group.ts";

/** §4.13 Assign. A role that is already assigned stays assigned. */
export const assignRole = operation({
  id: "group_role_assign",
  summary: "Assign a role to a group",
  tag: "Groups",
  method: "PUT",
  paths: { "v1.2": "/groups/:group_id/roles/:role_id/assign" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "group:update" } },
  params: GroupRoleParams,
  reply: DoneReply,
  find: findGroupAndRole,
  handle: changeRoles("roles"),
});
