import { Type } from "typebox";
import type { Tx } from "../../db/database.ts";
import { notFound } from "../../lib/fault.ts";
import { operation } from "../operation.ts";
import { ReferenceList, checkUniqueName, UniqueName } from "../reference.ts";
import { applyGroupEdit } from "./apply-edit.ts";
import { checkGroupRename, groupNameTaken } from "./group-rules.ts";
import { GroupIdParam, GroupReply, groupReply, groupNamedInPath } from "./group.ts";
import { membersNamedIn, rolesNamedIn, unknownIn } from "./named-in-list.ts";
import { lockGroup, renameGroup, type GroupRow } from "./store.ts";

export const editGroup = operation({
  id: "group_edit",
  summary: "Edit a group",
  description:
    "`members` and `roles` are added to the group; `removed_members` and `removed_roles` are removed from it.",
  tag: "Groups",
  method: "PUT",
  paths: { "v1.2": "/groups/:group_id" },
  access: { permission: { groups: ["system-admin"], role: "group:update" } },
  params: GroupIdParam,
  body: Type.Object({
    name: Type.Optional(UniqueName),
    members: Type.Optional(ReferenceList),
    roles: Type.Optional(ReferenceList),
    removed_members: Type.Optional(ReferenceList),
    removed_roles: Type.Optional(ReferenceList),
  }),
  example: { body: { name: "data-analysts" } },
  reply: GroupReply,
  find: groupNamedInPath,

  async handle({ params, body, caller, deny, change }) {
    if (body.name !== undefined) checkUniqueName(body.name);
    return change(async (tx, audit) => {
      const group = await lockGroup(tx, params.group_id);
      if (group === undefined) throw notFound("Group", params.group_id);
      const edit = {
        members: await membersNamedIn(tx, body.members, unknownIn("members", "user")),
        removedMembers: await membersNamedIn(tx, body.removed_members, unknownIn("removed_members", "user")),
        roles: await rolesNamedIn(tx, body.roles, unknownIn("roles", "role")),
        removedRoles: await rolesNamedIn(tx, body.removed_roles, unknownIn("removed_roles", "role")),
      };
      await applyGroupEdit(tx, group, edit, { caller, deny });
      audit.object = `group/${group.id}`;
      return groupReply(await renamed(tx, group, body.name));
    });
  },
});

async function renamed(tx: Tx, group: GroupRow, name = group.name): Promise<GroupRow> {
  if (name === group.name) return group;
  checkGroupRename(group, name);
  const row = await renameGroup(tx, group.id, name);
  if (row === undefined) throw groupNameTaken(name);
  return row;
}
