import { describe, expect, test } from "vitest";
import { BUILT_IN_ROLES } from "../src/access/built-in-roles.ts";
import type { OperationAccess } from "../src/access/operation.ts";
import { isPermitted, RESOURCE_ACTIONS, type PermissionRow } from "../src/access/permission.ts";
import { endpoints } from "../src/routes.ts";

/** The permission table is data in the endpoints; this is the table as the specification has it, written by hand. */
const BOTH = ["system-user", "system-admin"];
const ADMIN = ["system-admin"];

const SECTION_5: Record<string, { groups: string[]; role: string }> = {
  // IP whitelist add, list, delete: editing an account
  whitelist_ip_add: { groups: BOTH, role: "account:update" },
  whitelist_ip_list: { groups: BOTH, role: "account:update" },
  whitelist_ip_delete: { groups: BOTH, role: "account:update" },
  // Create account: creating an account
  account_create: { groups: BOTH, role: "account:create" },
  // View account, get_users, get_user_emails: viewing an account's details
  account_view_v1: { groups: BOTH, role: "account:read" },
  account_view: { groups: BOTH, role: "account:read" },
  account_users: { groups: BOTH, role: "account:read" },
  account_user_emails: { groups: BOTH, role: "account:read" },
  // get_pending_users
  account_pending_users: { groups: ADMIN, role: "account:read" },
  // Enable user: enabling users
  user_enable: { groups: BOTH, role: "svc_user:update" },
  // Assign, unassign
  group_role_assign: { groups: BOTH, role: "group:update" },
  group_role_unassign: { groups: BOTH, role: "group:update" },
};

/** Beside the table: groups, roles, tokens and invitations are for system-admins or a role on what they change. */
const AROUND: Record<string, OperationAccess["permission"] | { groups: string[]; role: string }> = {
  group_create: { groups: ADMIN, role: "group:create" },
  group_edit: { groups: ADMIN, role: "group:update" },
  group_delete: { groups: ADMIN, role: "group:delete" },
  role_create: { groups: ADMIN, role: "role:create" },
  role_edit: { groups: ADMIN, role: "role:update" },
  role_delete: { groups: ADMIN, role: "role:delete" },
  user_invite: { groups: ADMIN, role: "svc_user:create" },
  cluster_list: { groups: BOTH, role: "cluster:read" },
  cluster_view: { groups: BOTH, role: "cluster:read" },
  cluster_state_view: { groups: BOTH, role: "cluster:read" },
  cluster_create: { groups: ADMIN, role: "cluster:create" },
  cluster_clone: { groups: ADMIN, role: "cluster:create" },
  cluster_edit: { groups: ADMIN, role: "cluster:update" },
  cluster_label_reassign: { groups: ADMIN, role: "cluster:update" },
  cluster_delete: { groups: ADMIN, role: "cluster:delete" },
  cluster_state_change: { groups: BOTH, role: "cluster:start" },
  app_create: { groups: BOTH, role: "app:create" },
  app_list: { groups: BOTH, role: "app:read" },
  app_view: { groups: BOTH, role: "app:read" },
  app_stop: { groups: BOTH, role: "app:update" },
  app_delete: { groups: BOTH, role: "app:delete" },
  account_credentials: { groups: BOTH, role: "command:create" },
  token_reset: "member",
  invitation_accept: "public",
  account_list: "operator",
  account_features_view: "operator",
  account_features_edit: "operator",
};

const WITHOUT_ROW = ["member", "operator", "public"];

function isKnownRow({ groups, role }: PermissionRow): boolean {
  const [resource = "", action = ""] = role.split(":");
  const known: Record<string, readonly string[]> = RESOURCE_ACTIONS;
  return groups.includes("system-admin") && (known[resource] ?? []).includes(action);
}

const permissions = new Map<string, OperationAccess["permission"]>(
  endpoints.map(({ id, access }) => [id, access.permission]),
);

describe("the permission table", () => {
  test.each(Object.entries({ ...SECTION_5, ...AROUND }))("%s is for whom the specification says", (id, row) => {
    expect(permissions.get(id)).toEqual(row);
  });

  test.each(endpoints.map((endpoint) => [endpoint.id, endpoint] as const))("%s has a permission", (_id, endpoint) => {
    const { permission, alternatives = [] }: OperationAccess = endpoint.access;
    expect(typeof permission === "string" ? WITHOUT_ROW.includes(permission) : isKnownRow(permission)).toBe(true);
    expect(alternatives.every(isKnownRow)).toBe(true);
  });

  test("terminating is a row of its own beside starting", () => {
    const endpoint = endpoints.find(({ id }) => id === "cluster_state_change");
    const { alternatives }: OperationAccess = endpoint?.access ?? { permission: "public" };
    expect(alternatives).toEqual([{ groups: ADMIN, role: "cluster:terminate" }]);
  });

  test("names every operation once, as a command would be", () => {
    const ids = endpoints.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
    for (const id of ids) expect(id).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)+$/);
  });

  test("only these need no token", () => {
    expect(endpoints.filter(({ access }) => access.permission === "public").map(({ id }) => id)).toEqual([
      "invitation_accept",
    ]);
  });

  test.each(["system-user", "dashboard-user", "everyone"] as const)(
    "the role behind %s opens no row that does not name the group",
    (group) => {
      const statements = BUILT_IN_ROLES[group];
      for (const [id, permission] of permissions) {
        if (typeof permission === "string" || permission.groups.some((each) => each === group)) continue;
        expect(isPermitted(permission, { groups: new Set([group]), statements }), id).toBe(false);
      }
    },
  );
});
