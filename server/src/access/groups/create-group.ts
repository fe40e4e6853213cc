import { Type } from "typebox";
import { operation } from "../operation.ts";
import { ReferenceList, checkUniqueName, UniqueName } from "../reference.ts";
import { applyGroupEdit } from "./apply-edit.ts";
import { checkGroupCount, groupNameTaken, NO_EDIT } from "./group-rules.ts";
import { GroupReply, groupReply } from "./group.ts";
import { membersNamedIn, rolesNamedIn, unknownIn } from "./named-in-list.ts";
import { countGroups, insertGroup } from "./store.ts";

export const createGroup = operation({
  id: "group_create",
  summary: "Create a group",
  description: "`members` are ids of get_users entries or e-mail addresses, `roles` ids or names.",
  tag: "Groups",
  method: "POST",
  paths: { "v1.2": "/groups" },
  access: { permission: { groups: ["system-admin"], role: "group:create" } },
  body: Type.Object({
    name: UniqueName,
    members: Type.Optional(ReferenceList),
    roles: Type.Optional(ReferenceList),
  }),
  example: { body: { name: "analysts" } },
  reply: GroupReply,

  async handle({ body, caller, deny, change }) {
    const name = checkUniqueName(body.name);
    return change(async (tx, audit) => {
      const group = await insertGroup(tx, name);
      if (group === undefined) throw groupNameTaken(name);
      checkGroupCount(await countGroups(tx));
      const members = await membersNamedIn(tx, body.members, unknownIn("members", "user"));
      const roles = await rolesNamedIn(tx, body.roles, unknownIn("roles", "role"));
      await applyGroupEdit(tx, group, { ...NO_EDIT, members, roles }, { caller, deny });
      audit.object = `group/${group.id}`;
      return groupReply(group);
    });
  },
});
