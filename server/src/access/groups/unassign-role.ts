import { operation } from "../operation.ts";
import { changeRoles, findGroupAndRole, GroupRoleParams } from "./change-roles.ts";
import { DoneReply } from "./group.ts";

/** §4.13 Unassign. A role that is not assigned is ignored; a built-in group keeps its own role. */
export const unassignRole = operation({
  id: "group_role_unassign",
  summary: "Unassign a role from a group",
  tag: "Groups",
  method: "PUT",
  paths: { "v1.2": "/groups/:group_id/roles/:role_id/unassign" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "group:update" } },
  params: GroupRoleParams,
  reply: DoneReply,
  find: findGroupAndRole,
  handle: changeRoles("removedRoles"),
});
