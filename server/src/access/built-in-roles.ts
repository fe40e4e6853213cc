import type { BuiltInGroup, RoleStatement } from "./permission.ts";

/**
 * The role behind each built-in group, of the same name: what its members may do, in a role's own words. Assigning roles
 * is missing from system-user's: §5 lets that group assign, and `group:update` would let it edit groups as well.
 */
export const BUILT_IN_ROLES: Record<BuiltInGroup, readonly RoleStatement[]> = {
  "system-admin": [{ resource: "all", action: ["all"], access: "allow" }],
  "system-user": [
    { resource: "account", action: ["read", "create", "update"], access: "allow" },
    { resource: "app", action: ["read", "create", "update", "delete"], access: "allow" },
    { resource: "cluster", action: ["read", "start"], access: "allow" },
    { resource: "command", action: ["read", "create"], access: "allow" },
    { resource: "environment", action: ["read", "update"], access: "allow" },
    { resource: "folder", action: ["read", "write"], access: "allow" },
    { resource: "note", action: ["read", "create", "update", "delete"], access: "allow" },
    { resource: "scheduler", action: ["read", "create", "update", "delete"], access: "allow" },
    { resource: "sensor", action: ["create"], access: "allow" },
    { resource: "svc_user", action: ["update"], access: "allow" },
  ],
  "dashboard-user": [{ resource: "notebook_dashboards", action: ["read"], access: "allow" }],
  everyone: [],
};
