import { Type } from "typebox";
import { notFound } from "../../http/input.ts";
import { Id } from "../../http/schema.ts";
import { operation } from "../operation.ts";
import { parseReference, PathReference } from "../reference.ts";
import { holdRole } from "../roles/store.ts";
import { applyGroupEdit } from "./apply-edit.ts";
import { NO_EDIT } from "./group-rules.ts";
import { DONE, DoneReply } from "./group.ts";
import { lockGroup } from "./store.ts";

/** §4.13 Unassign. What is not assigned is passed over; a built-in group keeps its own role. */
export const unassignRole = operation({
  id: "group_role_unassign",
  summary: "Unassign a role from a group",
  tag: "Groups",
  method: "PUT",
  paths: { "v1.2": "/groups/:group_id/roles/:role_id/unassign" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "group:update" } },
  params: Type.Object({ group_id: Id, role_id: PathReference }),
  reply: DoneReply,

  async handle({ params, caller, deny, change }) {
    return change(async (tx, audit) => {
      const group = await lockGroup(tx, params.group_id);
      if (group === undefined) throw notFound();
      const role = await holdRole(tx, parseReference(params.role_id));
      if (role === undefined) throw notFound();
      await applyGroupEdit(tx, group, { ...NO_EDIT, removedRoles: [role] }, { caller, deny });
      audit.object = `group/${group.id}/role/${role.id}`;
      return DONE;
    });
  },
});
