/**
 * The permission table of §5 as rules: an operation lists the built-in groups that may use it and the role permission
 * that allows other callers. Pure: the caller is passed in as data.
 */
import { LRUCache } from "lru-cache";
import { invalid } from "../lib/fault.ts";

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
  file: ["read", "create", "update", "delete"],
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

/** A row of the permission table. */
export interface PermissionRow {
  groups: readonly Exclude<BuiltInGroup, "everyone">[];
  role: RolePermission;
}

/** One element of a role's policy. */
export interface RoleStatement {
  resource: string;
  action: readonly string[];
  access: "allow" | "deny";
}

export interface Principal {
  groups: ReadonlySet<string>;
  statements: readonly RoleStatement[];
}

/**
 * With several roles, any deny overrides any allow. System-admins are exempt from denies, so that an account's admins
 * cannot be locked out.
 */
export function isPermitted(row: PermissionRow, { groups, statements }: Principal): boolean {
  if (groups.has("system-admin")) return true;
  const [resource = "", action = ""] = row.role.split(":");
  const effects = statements.filter((statement) => appliesTo(statement, resource, action)).map(({ access }) => access);
  if (effects.includes("deny")) return false;
  return effects.includes("allow") || row.groups.some((group) => groups.has(group));
}

/** The missing permission, as a message for the caller; undefined if the call is permitted. */
export function missingPermission(row: PermissionRow, principal: Principal): string | undefined {
  if (isPermitted(row, principal)) return undefined;
  return `You may not do this: it needs membership in ${row.groups.join(" or ")}, or a role that allows ${row.role}.`;
}

function appliesTo(statement: RoleStatement, resource: string, action: string): boolean {
  return (
    (statement.resource === resource || statement.resource === "all") &&
    (statement.action.includes(action) || statement.action.includes("all"))
  );
}

/** A role's `policies`: a JSON string of `[{resource, action:[…], access}]`. */
const MAX_STATEMENTS = 200;

export function parseRolePolicies(text: string): RoleStatement[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw invalid("policies", "must be an array of {resource, action, access}, or its JSON text");
  }
  if (!Array.isArray(value)) throw invalid("policies", "must be an array of {resource, action, access}");
  if (value.length > MAX_STATEMENTS) throw invalid("policies", `must have at most ${MAX_STATEMENTS} elements`);
  return value.map((element, index) => parseStatement(element, `policies[${index}]`));
}

function parseStatement(element: unknown, field: string): RoleStatement {
  if (typeof element !== "object" || element === null) throw invalid(field, "must be an object");
  const { resource, action, access }: { resource?: unknown; action?: unknown; access?: unknown } = element;
  if (typeof resource !== "string" || (resource !== "all" && !Object.hasOwn(RESOURCE_ACTIONS, resource))) {
    throw invalid(`${field}.resource`, `must be one of all, ${Object.keys(RESOURCE_ACTIONS).join(", ")}`);
  }
  const allowed: ReadonlySet<string> = new Set(["all", ...actionsOf(resource)]);
  if (
    !Array.isArray(action) ||
    action.length === 0 ||
    !action.every((each: unknown) => typeof each === "string" && allowed.has(each))
  ) {
    throw invalid(`${field}.action`, `must be an array of ${[...allowed].join(", ")}`);
  }
  if (access !== "allow" && access !== "deny") throw invalid(`${field}.access`, "must be allow or deny");
  return { resource, action: [...new Set<string>(action)], access };
}

function actionsOf(resource: string): readonly string[] {
  const known: Record<string, readonly string[]> = RESOURCE_ACTIONS;
  return known[resource] ?? [...new Set(Object.values(RESOURCE_ACTIONS).flat())];
}

const MAX_CACHED_CHARACTERS = 4_000_000;
const parsed = new LRUCache<string, RoleStatement[]>({
  maxSize: MAX_CACHED_CHARACTERS,
  sizeCalculation: (_statements, text) => text.length,
});

/**
 * Parses a stored policy, which was validated before. The same few texts are needed by every request, so results are
 * cached.
 */
export function parsedPolicy(text: string): RoleStatement[] {
  let statements = parsed.get(text);
  if (statements === undefined) {
    statements = parseRolePolicies(text);
    parsed.set(text, statements);
  }
  return statements;
}

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
    { resource: "file", action: ["read", "create", "update", "delete"], access: "allow" },
    { resource: "folder", action: ["read", "write"], access: "allow" },
    { resource: "note", action: ["read", "create", "update", "delete"], access: "allow" },
    { resource: "scheduler", action: ["read", "create", "update", "delete"], access: "allow" },
    { resource: "sensor", action: ["create"], access: "allow" },
  ],
  "dashboard-user": [{ resource: "notebook_dashboards", action: ["read"], access: "allow" }],
  everyone: [],
};
