import { describe, expect, test } from "vitest";
import {
  BUILT_IN_ROLES,
  isPermitted,
  RESOURCE_ACTIONS,
  parseRolePolicies,
  parsedPolicy,
  type PermissionRow,
  type RoleStatement,
} from "./permission.ts";

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

const statement = { resource: "command", action: ["read"], access: "allow" };
const many = (count: number) => Array.from({ length: count }, () => statement);
const json = (value: unknown): string => JSON.stringify(value);

test.each<[string, string, unknown]>([
  ["no statements", "[]", []],
  ["one", json([statement]), [statement]],
  ["a repeated action, which is merged", json([{ ...statement, action: ["read", "read"] }]), [statement]],
  ["unknown keys, which are ignored", json([{ ...statement, condition: { x: 1 } }]), [statement]],
  ["white space", ` [ ${json(statement)} ]\n`, [statement]],
  [
    "any action of any resource on all",
    json([{ resource: "all", action: ["terminate"], access: "deny" }]),
    [{ resource: "all", action: ["terminate"], access: "deny" }],
  ],
  ["the maximum number of statements", json(many(200)), many(200)],
])("reads %s", (_case, text, statements) => {
  expect(parseRolePolicies(text)).toEqual(statements);
  expect(parsedPolicy(text)).toEqual(statements);
});

test.each<[string, string, RegExp]>([
  ["invalid JSON", "allow all", /^policies must be an array .*, or its JSON text/],
  ["empty text", "", /^policies must be an array .*, or its JSON text/],
  ["an object", json(statement), /^policies must be an array/],
  ["a string", '"[]"', /^policies must be an array/],
  ["null", "null", /^policies must be an array/],
  ["an element that is not an object", "[1]", /^policies\[0\] must be an object/],
  ["an element that is null", json([statement, null]), /^policies\[1\] must be an object/],
  ["an element that is an array", "[[]]", /^policies\[0\]/],
  ["an unknown resource", json([{ ...statement, resource: "moon" }]), /^policies\[0\]\.resource must be one of all, /],
  [
    "a property name of JavaScript as resource",
    json([{ ...statement, resource: "toString" }]),
    /^policies\[0\]\.resource/,
  ],
  ["no resource", json([{ action: ["read"], access: "allow" }]), /^policies\[0\]\.resource/],
  ["an unknown action", json([{ ...statement, action: ["fly"] }]), /^policies\[0\]\.action/],
  ["an action of another resource", json([{ ...statement, action: ["terminate"] }]), /^policies\[0\]\.action/],
  ["no action", json([{ ...statement, action: [] }]), /^policies\[0\]\.action/],
  ["an action that is not an array", json([{ ...statement, action: "read" }]), /^policies\[0\]\.action/],
  ["an action that is not a string", json([{ ...statement, action: [["read"]] }]), /^policies\[0\]\.action/],
  ["an unknown access", json([{ ...statement, access: "maybe" }]), /^policies\[0\]\.access/],
  ["too many statements", json(many(201)), /^policies must have at most 200/],
])("refuses %s and names the position", (_case, text, message) => {
  expect(() => parseRolePolicies(text)).toThrow(message);
});
