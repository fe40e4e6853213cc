import type { BuiltInGroup, RoleStatement } from "./permission.ts";

/**
 * The role of each built-in group, with the same name: the permissions of its members as a role policy. §5 gives
 * system-users some rows by group name only. These are not in their role, because a role permission applies to every
 * row that names it: `account:read` would include pending users and the audit, `group:update` editing groups,
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
