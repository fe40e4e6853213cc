import { operation } from "../operation.ts";
import { changeUsers, findGroupAndUsers, GroupUsersParams } from "./change-users.ts";
import { DoneReply } from "./group.ts";

/** Users who are not in the group are ignored. An unknown name in the list is 404, and then no user is removed. */
export const removeGroupUsers = operation({
  id: "group_user_remove",
  summary: "Remove users from a group",
  tag: "Groups",
  method: "PUT",
  paths: { "v1.2": "/groups/:group_id/svc_users/:users/remove" },
  access: { permission: { groups: ["system-admin"], role: "group:update" } },
  params: GroupUsersParams,
  reply: DoneReply,
  find: findGroupAndUsers,
  handle: changeUsers("removedMembers"),
});
