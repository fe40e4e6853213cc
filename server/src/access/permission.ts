/**
 * The permission table of §5 as rules: an operation names the built-in groups that may use it and the role permission
 * that lets anybody else in. Pure: who the caller is comes in as data.
 */
export const BUILT_IN_GROUPS = ["system-admin", "system-user", "dashboard-user", "everyone"] as const;
export type BuiltInGroup = (typeof BUILT_IN_GROUPS)[number];

/** What a role may speak of, and what may be done to it. `all` stands for every resource or every action. */
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

/** Several roles: any deny beats any allow. System-admins are immune, so that nobody can lock an account's admins out. */
export function isPermitted(row: PermissionRow, { groups, statements }: Standing): boolean {
  if (groups.has("system-admin")) return true;
  const [resource = "", action = ""] = row.role.split(":");
  const verdicts = statements.filter((statement) => speaksOf(statement, resource, action)).map(({ access }) => access);
  if (verdicts.includes("deny")) return false;
  return verdicts.includes("allow") || row.groups.some((group) => groups.has(group));
}

/** What somebody lacks to do it, for them to read; undefined: nothing. */
export function lackOf(row: PermissionRow, standing: Standing): string | undefined {
  if (isPermitted(row, standing)) return undefined;
  return `You may not do this: it needs membership in ${row.groups.join(" or ")}, or a role that allows ${row.role}.`;
}

function speaksOf(statement: RoleStatement, resource: string, action: string): boolean {
  return (
    (statement.resource === resource || statement.resource === "all") &&
    (statement.action.includes(action) || statement.action.includes("all"))
  );
}
