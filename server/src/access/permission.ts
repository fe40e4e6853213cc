/**
 * The permission table of §5 as rules: an operation lists the built-in groups that may use it and the role permission
 * that allows other callers. Pure: the caller is passed in as data.
 */
export const BUILT_IN_GROUPS = ["system-admin", "system-user", "dashboard-user", "everyone"] as const;
export type BuiltInGroup = (typeof BUILT_IN_GROUPS)[number];

/** The resources of role policies, and the actions on each. `all` means every resource or every action. */
export const RESOURCE_ACTIONS = {
  account: ["read", "create", "update"],
  app: ["read", "create", "update", "delete"],
  cluster: ["read", "create", "update", "delete", "start", "terminate", "manage"],
  command: ["read", "create"],
  datastore: ["read", "create", "update", "delete"],
  environment: ["read", "create", "update", "delete", "manage"],
  folder: ["read", "write", "manage"],
  group: ["read", "create", "update", "delete"],
  note: ["read", "create", "update", "delete", "manage"],
  notebook_dashboards: ["read", "create", "update", "delete", "manage"],
  object_storage: ["read"],
  role: ["read", "create", "update", "delete"],
  scheduler: ["read", "create", "update", "delete", "manage"],
  sensor: ["create"],
  svc_user: ["read", "create", "update"],
} as const;

export type Resource = keyof typeof RESOURCE_ACTIONS;
export type RolePermission = { [R in Resource]: `${R}:${(typeof RESOURCE_ACTIONS)[R][number]}` }[Resource];

/** A row of the table. */
export interface PermissionRow {
  groups: readonly ("system-user" | "system-admin")[];
  role: RolePermission;
}

/** One element of a role's policy. */
export interface RoleStatement {
  resource: string;
  action: readonly string[];
  access: "allow" | "deny";
}

export interface Standing {
  groups: ReadonlySet<string>;
  statements: readonly RoleStatement[];
}

/**
 * With several roles, any deny overrides any allow. System-admins are exempt from denies, so that an account's admins
 * cannot be locked out.
 */
export function isPermitted(row: PermissionRow, { groups, statements }: Standing): boolean {
  if (groups.has("system-admin")) return true;
  const [resource = "", action = ""] = row.role.split(":");
  const verdicts = statements.filter((statement) => appliesTo(statement, resource, action)).map(({ access }) => access);
  if (verdicts.includes("deny")) return false;
  return verdicts.includes("allow") || row.groups.some((group) => groups.has(group));
}

/** The missing permission, as a message for the caller; undefined if the call is permitted. */
export function missingPermission(row: PermissionRow, standing: Standing): string | undefined {
  if (isPermitted(row, standing)) return undefined;
  return `You may not do this: it needs membership in ${row.groups.join(" or ")}, or a role that allows ${row.role}.`;
}

function appliesTo(statement: RoleStatement, resource: string, action: string): boolean {
  return (
    (statement.resource === resource || statement.resource === "all") &&
    (statement.action.includes(action) || statement.action.includes("all"))
  );
}
