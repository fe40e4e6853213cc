import { expect, test } from "vitest";
import { BUILT_IN_ROLES, RESOURCE_ACTIONS, type RoleStatement } from "./permission.ts";
import { mayGrant, mayRevoke } from "./grant-rules.ts";

const allow = (resource: string, ...action: string[]): RoleStatement => ({ resource, action, access: "allow" });
const deny = (resource: string, ...action: string[]): RoleStatement => ({ resource, action, access: "deny" });

test.each<[string, readonly RoleStatement[], readonly RoleStatement[], boolean]>([
  ["privileges unrelated to access", [], [allow("datastore", "all"), allow("cluster", "terminate")], true],
  ["reading groups, roles and users", [], [allow("all", "read")], true],
  ["everything, having nothing", [], [allow("all", "all")], false],
  ["creating anything, having nothing", [], [allow("all", "create")], false],
  ["a privilege over groups that the caller has", [allow("group", "all")], [allow("group", "update")], true],
  ["a privilege over groups by a caller who has only roles", [allow("role", "all")], [allow("group", "update")], false],
  [
    "a privilege that is denied to the caller",
    [allow("all", "all"), deny("role", "update")],
    [allow("role", "update")],
    false,
  ],
  [
    "everything except privileges over access",
    [],
    [allow("all", "all"), ...["group", "role", "svc_user"].map((r) => deny(r, "all"))],
    true,
  ],
  ["a deny", [], [deny("all", "all")], true],
  ["the role of the caller's own group", BUILT_IN_ROLES["system-user"], BUILT_IN_ROLES["system-user"], true],
  ["the role of admins", BUILT_IN_ROLES["system-user"], BUILT_IN_ROLES["system-admin"], false],
  ["the role of dashboard users", BUILT_IN_ROLES["system-user"], BUILT_IN_ROLES["dashboard-user"], true],
])("granting %s", (_case, has, statements, allowed) => {
  expect(mayGrant({ groups: new Set(["analysts"]), statements: has }, statements)).toBe(allowed);
  expect(mayGrant({ groups: new Set(["system-admin"]), statements: has }, statements)).toBe(true);
});

const writes = (["group", "role", "svc_user"] as const).flatMap((resource) =>
  RESOURCE_ACTIONS[resource]
    .filter((action) => action !== "read")
    .map((action): [string, string] => [resource, action]),
);
test.each(writes)("%s:%s can be granted only by callers who have it", (resource, action) => {
  expect(mayGrant({ groups: new Set(), statements: [] }, [allow(resource, action)])).toBe(false);
});

test.each<[string, readonly RoleStatement[], readonly RoleStatement[], readonly RoleStatement[], boolean]>([
  ["statements without a deny of a privilege", [], [deny("datastore", "all"), allow("all", "all")], [], true],
  ["a deny of a privilege that the caller lacks", [], [deny("group", "update")], [], false],
  [
    "a deny of a privilege that is denied to the caller",
    [allow("all", "all"), deny("role", "all")],
    [deny("role", "all")],
    [],
    false,
  ],
  ["a deny of a privilege that the caller has", [allow("group", "all")], [deny("group", "update")], [], true],
  ["a deny that stays", [], [deny("all", "all")], [deny("all", "all")], true],
  ["a part of a deny", [], [deny("group", "all")], [deny("group", "update")], false],
])("revoking %s", (_case, has, statements, instead, allowed) => {
  expect(mayRevoke({ groups: new Set(["analysts"]), statements: has }, statements, instead)).toBe(allowed);
  expect(mayRevoke({ groups: new Set(["system-admin"]), statements: has }, statements, instead)).toBe(true);
});
