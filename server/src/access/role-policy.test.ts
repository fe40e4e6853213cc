import { expect, test } from "vitest";
import { parsedPolicy, parseRolePolicies } from "./role-policy.ts";

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
  ["invalid JSON", "allow all", /^policies must be a JSON string/],
  ["empty text", "", /^policies must be a JSON string/],
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
