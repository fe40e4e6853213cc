/** The permissions are data in the endpoints; the hand-written table states what the specification says. */
import { describe, expect, test } from "vitest";
import { BUILT_IN_ROLES, isPermitted, RESOURCE_ACTIONS, type PermissionRow } from "../src/access/permission.ts";
import type { OperationAccess } from "../src/access/operation.ts";
import { endpoints } from "../src/routes.ts";
import { ALTERNATIVES, PERMISSION_TABLE } from "./support/permission-table.ts";

function isKnownRow({ role }: PermissionRow): boolean {
  const [resource = "", action = ""] = role.split(":");
  const known: Record<string, readonly string[]> = RESOURCE_ACTIONS;
  return (known[resource] ?? []).includes(action);
}

const permissions = new Map<string, OperationAccess["permission"]>(
  endpoints.map(({ id, access }) => [id, access.permission]),
);

describe("the permission table", () => {
  test("has every operation, and no other", () => {
    expect([...PERMISSION_TABLE.keys()].toSorted()).toEqual([...permissions.keys()].toSorted());
  });

  test.each([...PERMISSION_TABLE])("%s is allowed to the callers that the specification names", (id, row) => {
    expect(permissions.get(id)).toEqual(row);
  });

  test("no operation has an alternative permission except those in the table", () => {
    const alternatives = endpoints
      .map(({ id, access }: { id: string; access: OperationAccess }) => ({ id, rows: access.alternatives ?? [] }))
      .filter(({ rows }) => rows.length > 0);
    expect(new Map(alternatives.map(({ id, rows }) => [id, rows]))).toEqual(ALTERNATIVES);
  });

  test.each(endpoints.map(({ id, access }) => [id, access] as const))(
    "a custom role can allow %s",
    (_id, { permission, alternatives = [] }: OperationAccess) => {
      const rows = typeof permission === "string" ? alternatives : [permission, ...alternatives];
      expect(rows.filter((row) => !isKnownRow(row))).toEqual([]);
    },
  );

  test("names every operation once, in the form of a CLI command", () => {
    const ids = endpoints.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
    for (const id of ids) expect(id).toMatch(/^[a-z][a-z0-9]*(_[a-z0-9]+)+$/);
  });

  test("requires a token for all other operations", () => {
    expect(endpoints.filter(({ access }) => access.permission === "public").map(({ id }) => id)).toEqual([
      "invitation_accept",
    ]);
  });

  test.each(["system-user", "dashboard-user", "everyone"] as const)(
    "the built-in role of %s allows only operations whose row names the group",
    (group) => {
      const statements = BUILT_IN_ROLES[group];
      for (const [id, permission] of permissions) {
        if (typeof permission === "string" || permission.groups.some((each) => each === group)) continue;
        expect(isPermitted(permission, { groups: new Set([group]), statements }), id).toBe(false);
      }
    },
  );
});
