import type { BuiltInGroup, RoleStatement } from "./permission.ts";

/**
 * The role behind each built-in group, of the same name: what its members may do, in a role's own words. What §5 gives
 * system-users by the name of their group in some rows only is missing from theirs, for a role permission opens every
 * row that names it: `account:read` the pending users and the audit, `group:update` the editing of groups,
 * `svc_user:update` the tokens of others.
 */
export const BUILT_IN_ROLES: Record<BuiltInGroup, readonly RoleStatement[]> = {
  "system-admin": [{ resource: "all", action: ["all"], access: "allow" }],
  "system-user": [
    { resource: "account", action: ["create", "update"], access: "allow" },
    { resource: "app", action: ["read", "create", "update", "delete"], access: "allow" },
    { resource: "cluster", action: ["read", "start"], access: "allow" },
    { resource: "command", action: ["read", "create"], access: "allow" },
    { resource: "environment", action: ["read", "update"], access: "allow" },
    { resource: "folder", action: ["read", "write"], access: "allow" },
    { resource: "note", action: ["read", "create", "update", "delete"], access: "allow" },
    { resource: "scheduler", action: ["read", "create", "update", "delete"], access: "allow" },
    { resource: "sensor", action: ["create"], access: "allow" },
  ],
  "dashboard-user": [{ resource: "notebook_dashboards", action: ["read"], access: "allow" }],
  everyone: [],
};
