import { Type } from "typebox";
import { listMembersOfGroup } from "../members/store.ts";
import { UserEntry, userEntry } from "../members/user-entry.ts";
import { operation } from "../operation.ts";
import { GroupIdParam, groupNamedInPath } from "./group.ts";

export const listGroupUsers = operation({
  id: "group_user_list",
  summary: "List the users of a group",
  tag: "Groups",
  method: "GET",
  paths: { "v1.2": "/groups/:group_id/svc_users" },
  access: { permission: { groups: ["system-admin"], role: "group:read" } },
  params: GroupIdParam,
  reply: Type.Object({ users: Type.Array(UserEntry) }),
  find: groupNamedInPath,

  async handle({ params, reader }) {
    const rows = await listMembersOfGroup(reader, params.group_id);
    return { users: rows.map(userEntry) };
  },
});
