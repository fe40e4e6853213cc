import { Type } from "typebox";
import { notFound } from "../../lib/fault.ts";
import { GRANT_REFUSAL, mayGrant, mayRevoke } from "../grant-rules.ts";
import { operation } from "../operation.ts";
import { parsedPolicy, parseRolePolicies } from "../permission.ts";
import { checkUniqueName, UniqueName } from "../reference.ts";
import { checkRolesOfAccount, checkRoleEdit, roleNameTaken } from "./role-rules.ts";
import { roleInPath, Policies, policiesText, RoleParam, RoleReply, roleReply } from "./role.ts";
import { lockRole, updateRole } from "./store.ts";

/** Changes apply to the next request of every user whose groups have the role. */
export const editRole = operation({
  id: "role_edit",
  summary: "Edit a role",
  tag: "Roles",
  method: "PUT",
  paths: { "v1.2": "/roles/:role_id" },
  access: { permission: { groups: ["system-admin"], role: "role:update" } },
  params: RoleParam,
  body: Type.Object({ name: Type.Optional(UniqueName), policies: Type.Optional(Policies) }),
  example: { body: { name: "reader-of-commands" } },
  reply: RoleReply,
  find: roleInPath,

  async handle({ found, params, body, caller, change, deny }) {
    if (body.name !== undefined) checkUniqueName(body.name);
    const policy = body.policies === undefined ? undefined : policiesText(body.policies);
    if (policy !== undefined && !mayGrant(caller, parseRolePolicies(policy))) throw deny(GRANT_REFUSAL);
    return change(async (tx, audit) => {
      const role = await lockRole(tx, found.id);
      if (role === undefined) throw notFound("Role", params.role_id);
      const edit = { name: body.name ?? role.name, policy: policy ?? role.policy };
      checkRoleEdit(role, edit);
      if (!mayRevoke(caller, parsedPolicy(role.policy), parsedPolicy(edit.policy))) throw deny(GRANT_REFUSAL);
      const edited = await updateRole(tx, role.id, edit.name, edit.policy);
      if (edited === undefined) throw roleNameTaken(edit.name);
      if (edit.policy.length > role.policy.length) await checkRolesOfAccount(tx);
      audit.object = `role/${role.id}`;
      return roleReply(edited);
    });
  },
});
