import { notFound } from "../../http/input.ts";
import { operation } from "../operation.ts";
import { applyGroupEdit } from "./apply-edit.ts";
import { NO_EDIT } from "./group-rules.ts";
import { GroupUsersParams } from "./group-users-params.ts";
import { DONE, DoneReply } from "./group.ts";
import { membersNamedIn } from "./named-in-list.ts";
import { lockGroup } from "./store.ts";

/** Whoever is in the group already stays; an unknown name in the list is 404 and nobody is added. */
export const addGroupUsers = operation({
  id: "group_user_add",
  summary: "Add users to a group",
  tag: "Groups",
  method: "PUT",
  paths: { "v1.2": "/groups/:group_id/svc_users/:users/add" },
  access: { permission: { groups: ["system-admin"], role: "group:update" } },
  params: GroupUsersParams,
  reply: DoneReply,

  async handle({ params, caller, deny, change }) {
    return change(async (tx, audit) => {
      const group = await lockGroup(tx, params.group_id);
      if (group === undefined) throw notFound();
      const members = await membersNamedIn(tx, params.users, notFound);
      if (members.length === 0) throw notFound();
      await applyGroupEdit(tx, group, { ...NO_EDIT, members }, { caller, deny });
      audit.object = `group/${group.id}/svc_user/${members.join(",")}`;
      return DONE;
    });
  },
});
