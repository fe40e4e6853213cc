import { Type } from "typebox";
import { GRANT_REFUSAL, mayGrant } from "../grant-rules.ts";
import { operation } from "../operation.ts";
import { parsedPolicy } from "../permission.ts";
import { checkUniqueName, UniqueName } from "../reference.ts";
import { checkRolesOfAccount, roleNameTaken } from "./role-rules.ts";
import { roleInPath, RoleParam, RoleReply, roleReply } from "./role.ts";
import { insertRole } from "./store.ts";

/** Creates a role with the same policy, not assigned to any group. The copy of a built-in role can be changed. */
export const duplicateRole = operation({
  id: "role_duplicate",
  summary: "Duplicate a role",
  tag: "Roles",
  method: "POST",
  paths: { "v1.2": "/roles/:role_id/duplicate" },
  access: { permission: { groups: ["system-admin"], role: "role:create" } },
  params: RoleParam,
  body: Type.Object({ name: UniqueName }),
  example: { body: { name: "another-reader" } },
  reply: RoleReply,

  find: roleInPath,

  async handle({ found: original, body, caller, change, deny }) {
    const name = checkUniqueName(body.name);
    if (!mayGrant(caller, parsedPolicy(original.policy))) throw deny(GRANT_REFUSAL);
    return change(async (tx, audit) => {
      const role = await insertRole(tx, name, original.policy);
      if (role === undefined) throw roleNameTaken(name);
      await checkRolesOfAccount(tx);
      audit.object = `role/${role.id}`;
      return roleReply(role);
    });
  },
});
