import { Type, type Static } from "typebox";
import type { Queryable } from "../../db/database.ts";
import { notFound } from "../../lib/fault.ts";
import { Id } from "../../http/schema.ts";
import type { Admitted } from "../operation.ts";
import { parseReference, PathReference } from "../reference.ts";
import { findRole, holdRole } from "../roles/store.ts";
import { applyGroupEdit } from "./apply-edit.ts";
import { NO_EDIT } from "./group-rules.ts";
import { DONE, groupNamedInPath, type DoneReply } from "./group.ts";
import { lockGroup } from "./store.ts";

/** Shared by the operations that assign and unassign a role. */
export const GroupRoleParams = Type.Object({ group_id: Id, role_id: PathReference });

interface Named {
  params: Static<typeof GroupRoleParams>;
}

export async function findGroupAndRole(request: Named & { reader: Queryable }): Promise<void> {
  const [, role] = await Promise.all([
    groupNamedInPath(request),
    findRole(request.reader, parseReference(request.params.role_id)),
  ]);
  if (role === undefined) throw notFound("Role", request.params.role_id);
}

export function changeRoles(which: "roles" | "removedRoles") {
  return ({ params, caller, deny, change }: Named & Admitted): Promise<Static<typeof DoneReply>> =>
    change(async (tx, audit) => {
      const group = await lockGroup(tx, params.group_id);
      if (group === undefined) throw notFound("Group", params.group_id);
      const role = await holdRole(tx, parseReference(params.role_id));
      if (role === undefined) throw notFound("Role", params.role_id);
      await applyGroupEdit(tx, group, { ...NO_EDIT, [which]: [role] }, { caller, deny });
      audit.object = `group/${group.id}/role/${role.id}`;
      return DONE;
    });
}
