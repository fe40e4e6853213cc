import { Type } from "typebox";
import { notFound } from "../../lib/fault.ts";
import { GRANT_REFUSAL, mayRevoke } from "../grant-rules.ts";
import { operation } from "../operation.ts";
import { parsedPolicy } from "../permission.ts";
import { roleInPath, RoleParam } from "./role.ts";
import { checkRoleDelete } from "./role-rules.ts";
import { deleteRole as removeRole, lockRole } from "./store.ts";

/** Groups with the role lose it; this applies to their members' next request. */
export const deleteRole = operation({
  id: "role_delete",
  summary: "Delete a role",
  tag: "Roles",
  method: "DELETE",
  paths: { "v1.2": "/roles/:role_id" },
  access: { permission: { groups: ["system-admin"], role: "role:delete" } },
  params: RoleParam,
  reply: Type.Object({ status: Type.Literal("success") }),
  find: roleInPath,

  async handle({ found, params, caller, change, deny }) {
    return change(async (tx, audit) => {
      const role = await lockRole(tx, found.id);
      if (role === undefined) throw notFound("Role", params.role_id);
      checkRoleDelete(role);
      if (!mayRevoke(caller, parsedPolicy(role.policy))) throw deny(GRANT_REFUSAL);
      await removeRole(tx, role.id);
      audit.object = `role/${role.id}`;
      return { status: "success" as const };
    });
  },
});
