import type { Tx } from "../../db/database.ts";
import { invalid } from "../../lib/fault.ts";
import { GRANT_REFUSAL, mayGrant, mayRevoke } from "../grant-rules.ts";
import { hasActiveAdmin, lockAdmins } from "../members/store.ts";
import type { Admitted } from "../operation.ts";
import { parsedPolicy } from "../permission.ts";
import { listRolesOfGroup } from "../roles/store.ts";
import { checkGroupEdit, type GroupEdit } from "./group-rules.ts";
import { deleteGroupMembers, deleteGroupRoles, insertGroupMembers, insertGroupRoles, type GroupRow } from "./store.ts";

/**
 * All changes of a group's members and roles end here: the check against granting more than the caller has (403), the
 * rules of groups (422), the rows, and the rule that the last system-admin stays (422). The caller has locked the group.
 */
export async function applyGroupEdit(
  tx: Tx,
  group: GroupRow,
  edit: GroupEdit,
  { caller, deny }: Pick<Admitted, "caller" | "deny">,
): Promise<void> {
  const refusal = await grantRefusal(tx, group, edit, caller);
  if (refusal !== undefined) throw deny(refusal);
  checkGroupEdit(group, edit);

  const takesAdmins = group.name === "system-admin" && edit.removedMembers.length > 0;
  if (takesAdmins) lockAdmins(tx, caller.accountId);
  if (edit.members.length > 0) await insertGroupMembers(tx, group.id, edit.members);
  if (edit.removedMembers.length > 0) await deleteGroupMembers(tx, group.id, edit.removedMembers);
  if (edit.roles.length > 0)
    await insertGroupRoles(
      tx,
      group.id,
      edit.roles.map(({ id }) => id),
    );
  if (edit.removedRoles.length > 0)
    await deleteGroupRoles(
      tx,
      group.id,
      edit.removedRoles.map(({ id }) => id),
    );
  if (takesAdmins && !(await hasActiveAdmin(tx))) {
    throw invalid(
      "members",
      "of system-admin must include an active user: the last active system-admin cannot be removed",
    );
  }
}

/**
 * See grant-rules.ts. The group may be new, or its roles may be changing: added members get all its roles, and removed
 * members lose their denies.
 */
async function grantRefusal(
  tx: Tx,
  group: GroupRow,
  { members, removedMembers, roles, removedRoles }: GroupEdit,
  caller: Admitted["caller"],
): Promise<string | undefined> {
  if (caller.groups.has("system-admin")) return undefined;
  if (group.name === "system-admin")
    return "You may not do this: only system-admins can change the group system-admin.";
  const had = members.length + removedMembers.length > 0 ? await listRolesOfGroup(tx, group.id) : [];
  const given = [...(members.length > 0 ? had : []), ...roles];
  const taken = [...(removedMembers.length > 0 ? had : []), ...removedRoles];
  const isWithin =
    given.every(({ policy }) => mayGrant(caller, parsedPolicy(policy))) &&
    taken.every(({ policy }) => mayRevoke(caller, parsedPolicy(policy)));
  return isWithin ? undefined : GRANT_REFUSAL;
}
