import type { Feature } from "../../lib/features.ts";
import type { PermissionRow } from "../permission.ts";
import type { AuthorisedAction } from "./access-decision.ts";
import type { ObjectType } from "./policy.ts";

const both = (role: PermissionRow["role"]): PermissionRow => ({ groups: ["system-user", "system-admin"], role });
const admins = (role: PermissionRow["role"]): PermissionRow => ({ groups: ["system-admin"], role });

/**
 * The rows of the permission table (§5) for objects: they decide where no policy has a verdict. The operations and
 * `access_explain` share them. `manage` is setting the policy. Viewing it needs `read`, but for folders `manage`.
 */
export const OBJECT_PERMISSIONS = {
  cluster: {
    read: both("cluster:read"),
    update: admins("cluster:update"),
    delete: admins("cluster:delete"),
    start: both("cluster:start"),
    terminate: admins("cluster:terminate"),
    // Always needed: a policy can refuse a command, but allowing `start` does not replace this permission.
    submit: both("command:create"),
    manage: admins("cluster:manage"),
  },
  note: {
    read: both("note:read"),
    update: both("note:update"),
    delete: both("note:delete"),
    manage: admins("note:manage"),
  },
  scheduler: {
    read: both("scheduler:read"),
    update: both("scheduler:update"),
    delete: both("scheduler:delete"),
    manage: admins("scheduler:manage"),
  },
  environment: {
    read: both("environment:read"),
    update: both("environment:update"),
    delete: admins("environment:delete"),
    manage: admins("environment:manage"),
  },
  folder: {
    read: both("folder:read"),
    write: both("folder:write"),
    move: both("folder:write"),
    // §5: setting the policy of a folder
    manage: both("command:create"),
  },
  dashboard: {
    read: { groups: ["system-user", "system-admin", "dashboard-user"], role: "notebook_dashboards:read" },
    update: both("notebook_dashboards:update"),
    delete: both("notebook_dashboards:delete"),
  },
} as const satisfies Record<ObjectType, Partial<Record<AuthorisedAction, PermissionRow>>>;

/** What decides whether a command may run on a cluster, in an account with these features. */
export function submitRule(features: ReadonlySet<Feature>): { action: AuthorisedAction; row: PermissionRow } {
  return {
    action: features.has("closed_clusters") ? "submit-closed" : "submit",
    row: OBJECT_PERMISSIONS.cluster.submit,
  };
}

/** Undefined: objects of the type have no such action. */
export function objectPermission(type: ObjectType, action: string): PermissionRow | undefined {
  const rows: Partial<Record<string, PermissionRow>> = OBJECT_PERMISSIONS[type];
  return Object.hasOwn(rows, action) ? rows[action] : undefined;
}
