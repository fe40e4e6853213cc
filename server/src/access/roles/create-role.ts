import { Type } from "typebox";
import { GRANT_REFUSAL, mayGrant } from "../grant-rules.ts";
import { operation } from "../operation.ts";
import { parseRolePolicies } from "../permission.ts";
import { checkUniqueName, UniqueName } from "../reference.ts";
import { checkRolesOfAccount, roleNameTaken } from "./role-rules.ts";
import { Policies, policiesText, RoleReply, roleReply } from "./role.ts";
import { insertRole } from "./store.ts";

export const createRole = operation({
  id: "role_create",
  summary: "Create a role",
  tag: "Roles",
  method: "POST",
  paths: { "v1.2": "/roles" },
  access: { permission: { groups: ["system-admin"], role: "role:create" } },
  body: Type.Object({ name: UniqueName, policies: Type.Optional(Policies) }),
  example: {
    body: { name: "command-reader", policies: '[{"resource":"command","action":["read"],"access":"allow"}]' },
  },
  reply: RoleReply,

  async handle({ body, caller, change, deny }) {
    const name = checkUniqueName(body.name);
    const policy = policiesText(body.policies ?? []);
    if (!mayGrant(caller, parseRolePolicies(policy))) throw deny(GRANT_REFUSAL);
    return change(async (tx, audit) => {
      const role = await insertRole(tx, name, policy);
      if (role === undefined) throw roleNameTaken(name);
      await checkRolesOfAccount(tx);
      audit.object = `role/${role.id}`;
      return roleReply(role);
    });
  },
});
