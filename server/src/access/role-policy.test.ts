import { expect, test } from "vitest";
import { parsedPolicy, parseRolePolicies } from "./role-policy.ts";

const statement = { resource: "command", action: ["read"], access: "allow" };
const many = (count: number) => Array.from({ length: count }, () => statement);
const json = (value: unknown): string => JSON.stringify(value);

test.each<[string, string, unknown]>([
  ["no statements", "[]", []],
  ["one", json([statement]), [statement]],
  ["an action named twice, once", json([{ ...statement, action: ["read", "read"] }]), [statement]],
  ["keys that nobody knows, ignored", json([{ ...statement, condition: { x: 1 } }]), [statement]],
  ["white space", ` [ ${json(statement)} ]\n`, [statement]],
  [
    "any action of any resource on all",
    json([{ resource: "all", action: ["terminate"], access: "deny" }]),
    [{ resource: "all", action: ["terminate"], access: "deny" }],
  ],
  ["as many as there may be", json(many(200)), many(200)],
])("reads %s", (_case, text, statements) => {
  expect(parseRolePolicies(text)).toEqual(statements);
  expect(parsedPolicy(text)).toEqual(statements);
});

test.each<[string, string, RegExp]>([
  ["no JSON", "allow all", /^policies must be a JSON string/],
  ["nothing", "", /^policies must be a JSON string/],
  ["an object", json(statement), /^policies must be an array/],
  ["a string", '"[]"', /^policies must be an array/],
  ["null", "null", /^policies must be an array/],
  ["an element that is no object", "[1]", /^policies\[0\] must be an object/],
  ["an element that is null", json([statement, null]), /^policies\[1\] must be an object/],
  ["an element that is an array", "[[]]", /^policies\[0\]/],
  ["an unknown resource", json([{ ...statement, resource: "moon" }]), /^policies\[0\]\.resource must be one of all, /],
  ["a resource of the language", json([{ ...statement, resource: "toString" }]), /^policies\[0\]\.resource/],
  ["no resource", json([{ action: ["read"], access: "allow" }]), /^policies\[0\]\.resource/],
  ["an unknown action", json([{ ...statement, action: ["fly"] }]), /^policies\[0\]\.action/],
  ["an action of another resource", json([{ ...statement, action: ["terminate"] }]), /^policies\[0\]\.action/],
  ["no action", json([{ ...statement, action: [] }]), /^policies\[0\]\.action/],
  ["an action that is no array", json([{ ...statement, action: "read" }]), /^policies\[0\]\.action/],
  ["an action that is no string", json([{ ...statement, action: [["read"]] }]), /^policies\[0\]\.action/],
  ["an unknown access", json([{ ...statement, access: "maybe" }]), /^policies\[0\]\.access/],
  ["more than there may be", json(many(201)), /^policies must have at most 200/],
])("refuses %s and names the place", (_case, text, message) => {
  expect(() => parseRolePolicies(text)).toThrow(message);
});
