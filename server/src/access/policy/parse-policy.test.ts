import { describe, expect, test } from "vitest";
import { MAX_ELEMENTS, parsePolicy } from "./parse-policy.ts";

const parse = (value: unknown, type: "note" | "cluster" | "folder" = "note") =>
  parsePolicy(JSON.stringify(value), type);

describe("a policy", () => {
  test("has elements with access, actions, users and groups; unknown keys and nulls are ignored", () => {
    expect(
      parse([
        { access: "allow", action: ["read", "read"], condition: { svc_users: [1, "2", 2], svc_groups: [] }, note: 1 },
        { access: "deny", action: ["all"], condition: null },
        { access: "deny", action: null },
      ]),
    ).toEqual([
      { access: "allow", action: ["read"], users: [1, 2] },
      { access: "deny", action: ["all"] },
      { access: "deny" },
    ]);
  });

  test.each([
    ["note", "start"],
    ["note", "write"],
    ["folder", "update"],
    ["folder", "delete"],
    ["cluster", "write"],
  ] as const)("of a %s has no action %s", (type, action) => {
    expect(() => parse([{ access: "allow", action: [action] }], type)).toThrow(/^policy\[0\]\.action must be/);
  });

  test.each(["start", "terminate"])("of a cluster may name %s", (action) => {
    expect(parse([{ access: "allow", action: [action] }], "cluster")).toHaveLength(1);
  });

  test.each<[unknown, RegExp]>([
    [{}, /^policy must be an array/],
    [null, /^policy must be an array/],
    ["x", /^policy must be an array/],
    [[1], /^policy\[0\] must be an object/],
    [[[]], /^policy\[0\]/],
    [[{}], /^policy\[0\]\.access must be allow or deny/],
    [[{ access: "Allow" }], /^policy\[0\]\.access/],
    [[{ access: "allow" }, { access: "allow", action: [] }], /^policy\[1\]\.action must be a non-empty array/],
    [[{ access: "allow", action: "read" }], /^policy\[0\]\.action/],
    [[{ access: "allow", action: ["read", 1] }], /^policy\[0\]\.action/],
    [[{ access: "allow", condition: { svc_users: [1] } }], /^policy\[0\]\.action is required with a condition/],
    [[{ access: "allow", action: ["read"], condition: {} }], /^policy\[0\]\.condition must name a user or a group/],
    [[{ access: "allow", action: ["read"], condition: { svc_users: [], svc_groups: [] } }], /^policy\[0\]\.condition/],
    [[{ access: "allow", action: ["read"], condition: [1] }], /^policy\[0\]\.condition/],
    [[{ access: "allow", action: ["read"], condition: { svc_users: 1 } }], /condition\.svc_users must be an array/],
    [[{ access: "allow", action: ["read"], condition: { svc_users: ["a"] } }], /condition\.svc_users must be an array/],
    [[{ access: "allow", action: ["read"], condition: { svc_groups: [0] } }], /condition\.svc_groups/],
    [[{ access: "allow", action: ["read"], condition: { svc_groups: [1.5] } }], /condition\.svc_groups/],
    [[{ access: "allow", action: ["read"], condition: { svc_groups: [2 ** 60] } }], /condition\.svc_groups/],
    [Array.from({ length: MAX_ELEMENTS + 1 }, () => ({ access: "allow" })), /at most 200 elements/],
    [
      [{ access: "allow", action: ["all"], condition: { svc_users: Array.from({ length: 2001 }, (_, id) => id + 1) } }],
      /at most 2000/,
    ],
  ])("is refused: %j", (value, message) => {
    expect(() => parse(value)).toThrow(message);
  });

  test("is refused if it is not JSON", () => {
    expect(() => parsePolicy("[{'access':'allow'}]", "note")).toThrow(
      /^policy must be an array, or the JSON text of one/,
    );
  });

  test("may be empty, and as long as allowed", () => {
    expect(parse([])).toEqual([]);
    expect(parse(Array.from({ length: MAX_ELEMENTS }, () => ({ access: "allow" })))).toHaveLength(MAX_ELEMENTS);
  });
});
