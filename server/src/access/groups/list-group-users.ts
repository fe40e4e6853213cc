import { Type } from "typebox";
import { notFound } from "../../http/input.ts";
import { listMembersOfGroup } from "../members/store.ts";
import { UserEntry, userEntry } from "../members/user-entry.ts";
import { operation } from "../operation.ts";
import { GroupIdParam } from "./group.ts";
import { findGroup } from "./store.ts";

export const listGroupUsers = operation({
  id: "group_user_list",
  summary: "List the users of a group",
  tag: "Groups",
  method: "GET",
  paths: { "v1.2": "/groups/:group_id/svc_users" },
  access: { permission: { groups: ["system-admin"], role: "group:read" } },
  params: GroupIdParam,
  reply: Type.Object({ users: Type.Array(UserEntry) }),

  async handle({ params, reader }) {
    const [group, rows] = await Promise.all([
      findGroup(reader, { id: params.group_id, name: null }),
      listMembersOfGroup(reader, params.group_id),
    ]);
    if (group === undefined) throw notFound();
    return { users: rows.map(userEntry) };
  },
});
