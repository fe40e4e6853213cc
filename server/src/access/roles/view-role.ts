import { operation } from "../operation.ts";
import { Role, roleInPath, roleOf, RoleParam } from "./role.ts";

export const viewRole = operation({
  id: "role_view",
  summary: "View a role",
  tag: "Roles",
  method: "GET",
  paths: { "v1.2": "/roles/:role_id" },
  access: { permission: { groups: ["system-admin"], role: "role:read" } },
  params: RoleParam,
  reply: Role,

  find: roleInPath,

  handle: async ({ found }) => roleOf(found),
});
