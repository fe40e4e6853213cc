import { describe, expect, test } from "vitest";
import { BUILT_IN_ROLES } from "./built-in-roles.ts";
import { isPermitted, RESOURCE_ACTIONS, type PermissionRow, type RoleStatement } from "./permission.ts";
import { parseRolePolicies } from "./role-policy.ts";

const submit: PermissionRow = { groups: ["system-user", "system-admin"], role: "command:create" };
const createStore: PermissionRow = { groups: ["system-admin"], role: "datastore:create" };
const allow = (resource: string, ...action: string[]): RoleStatement => ({ resource, action, access: "allow" });
const deny = (resource: string, ...action: string[]): RoleStatement => ({ resource, action, access: "deny" });

test.each<[string, PermissionRow, string[], RoleStatement[], boolean]>([
  ["a caller without groups or roles", submit, [], [], false],
  ["a member of a group in the row", submit, ["system-user"], [], true],
  ["a member of a group that is not in the row", createStore, ["system-user"], [], false],
  ["a member of a custom group", submit, ["analysts"], [], false],
  ["a role that allows exactly this", submit, [], [allow("command", "create")], true],
  ["a role that allows another action", submit, [], [allow("command", "read")], false],
  ["a role that allows another resource", submit, [], [allow("app", "create")], false],
  ["every action on the resource", submit, [], [allow("command", "all")], true],
  ["the action on every resource", submit, [], [allow("all", "create")], true],
  ["everything", createStore, [], [allow("all", "all")], true],
  ["an action among several", submit, [], [allow("command", "read", "create")], true],
  ["a deny against an allow of another role", submit, [], [allow("command", "all"), deny("command", "create")], false],
  ["a deny before the allow: order never matters", submit, [], [deny("command", "all"), allow("all", "all")], false],
  ["a broad deny against a narrow allow", submit, [], [allow("command", "create"), deny("all", "all")], false],
  ["a deny against a group in the row", submit, ["system-user"], [deny("command", "create")], false],
  ["a deny of another action", submit, ["system-user"], [deny("command", "read")], true],
  ["a system-admin, who is exempt from denies", submit, ["system-admin"], [deny("all", "all")], true],
  ["a system-admin without any role", createStore, ["system-admin"], [], true],
])("isPermitted: %s", (_case, row, groups, statements, permitted) => {
  expect(isPermitted(row, { groups: new Set(groups), statements })).toBe(permitted);
});

describe("the built-in roles", () => {
  test.each(Object.entries(BUILT_IN_ROLES))(
    "%s uses only resources and actions that a role may use",
    (_name, statements) => {
      expect(parseRolePolicies(JSON.stringify(statements))).toEqual(statements);
    },
  );

  test("every resource has actions without duplicates", () => {
    for (const actions of Object.values(RESOURCE_ACTIONS)) expect(new Set(actions).size).toBe(actions.length);
  });
});
