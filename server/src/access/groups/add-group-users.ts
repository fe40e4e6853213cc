import { operation } from "../operation.ts";
import { changeUsers, findGroupAndUsers, GroupUsersParams } from "./change-users.ts";
import { DoneReply } from "./group.ts";

/** Users who are already in the group stay. An unknown name in the list is 404, and then no user is added. */
export const addGroupUsers = operation({
  id: "group_user_add",
  summary: "Add users to a group",
  tag: "Groups",
  method: "PUT",
  paths: { "v1.2": "/groups/:group_id/svc_users/:users/add" },
  access: { permission: { groups: ["system-admin"], role: "group:update" } },
  params: GroupUsersParams,
  reply: DoneReply,
  find: findGroupAndUsers,
  handle: changeUsers("members"),
});
