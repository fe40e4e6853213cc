import { describe, expect, test } from "vitest";
import { useSharedServer, type AccountClient } from "../../../test/support/given.ts";
import { withoutId } from "../../../test/support/without-id.ts";

const given = useSharedServer();
const BUILT_IN = ["dashboard-user", "everyone", "system-admin", "system-user"];
const UNKNOWN = 987_654_321;
const WHITELIST = '[ {"access":"allow",  "resource":"account", "action":["update"]} ]';

async function roleNames(account: AccountClient): Promise<string[]> {
  return (await account.get("/roles?per_page=100")).roles.map(({ name }: { name: string }) => name);
}

describe("GET roles", () => {
  test("a new account has the built-in roles, sorted by name, each with its policy as a JSON string", async () => {
    const account = await given.account();
    const { paging_info: paging, roles } = await account.get("/roles");
    expect(paging).toEqual({ previous_page: null, next_page: null, per_page: 10 });
    expect(roles).toEqual(
      BUILT_IN.map((name) => ({
        id: expect.any(Number),
        name,
        source: "system",
        policy: expect.stringMatching(/^\[.*\]$/),
        account_id: account.accountId,
      })),
    );
    expect(JSON.parse(roles[2].policy)).toEqual([{ resource: "all", action: ["all"], access: "allow" }]);
  });

  test("is paged", async () => {
    const account = await given.account();
    const page = await account.get("/roles?page=2&per_page=1");
    expect(page.roles).toMatchObject([{ name: "everyone" }]);
    expect(page.paging_info).toEqual({ previous_page: 1, next_page: 3, per_page: 1 });
    await account.get("/roles?per_page=0").refused(422, /^per_page/);
  });
});

describe("GET roles/<id or name>", () => {
  test("returns the same role by id and by name", async () => {
    const account = await given.account();
    const { roles: role } = await account.post("/roles", { name: "run it", policies: WHITELIST });
    expect(await account.get(`/roles/${role.id}`)).toEqual(role);
    expect(await account.get("/roles/run%20it")).toEqual(role);
  });

  test("an unknown role and another account's get the same reply", async () => {
    const [owner, stranger] = [await given.account(), await given.account()];
    const { roles: role } = await owner.post("/roles", { name: "secret" });
    const foreign = await stranger.get(`/roles/${role.id}`).refused(404);
    for (const reference of ["secret", UNKNOWN, "0", "99999999999999999999"]) {
      const unknown = await stranger.get(`/roles/${reference}`).refused(404);
      expect(withoutId(unknown, reference)).toBe(withoutId(foreign, role.id));
    }
  });
});

describe("GET roles/<id>/groups", () => {
  test("lists the groups that have the role, in pages", async () => {
    const account = await given.account();
    const { id } = await account.get("/roles/system-user");
    const { group } = await account.post("/groups", { name: "analysts", roles: "system-user" });
    const { group: builtIn } = { group: await account.get("/groups/system-user") };
    expect(await account.get(`/roles/${id}/groups`)).toEqual({
      paging_info: { previous_page: null, next_page: null, per_page: 10 },
      groups: [group, builtIn],
    });
    expect((await account.get(`/roles/${id}/groups?per_page=1&page=2`)).groups).toEqual([builtIn]);
  });

  test("another account's role gets the same reply as an unknown one, before the query is validated", async () => {
    const [owner, stranger] = [await given.account(), await given.account()];
    const { id } = await owner.get("/roles/everyone");
    const foreign = await stranger.get(`/roles/${id}/groups?per_page=0`).refused(404);
    const unknown = await stranger.get(`/roles/${UNKNOWN}/groups`).refused(404);
    expect(withoutId(unknown, UNKNOWN)).toBe(withoutId(foreign, id));
  });
});

describe("POST roles", () => {
  test("stores the policy unchanged", async () => {
    const account = await given.account();
    expect(await account.post("/roles", { name: "whitelist", policies: WHITELIST })).toEqual({
      status: "success",
      roles: {
        id: expect.any(Number),
        name: "whitelist",
        source: "custom",
        policy: WHITELIST,
        account_id: account.accountId,
      },
    });
  });

  test("may have its policies as an array", async () => {
    const account = await given.account();
    const policies = [{ resource: "account", action: ["update"], access: "allow" }];
    const { roles: role } = await account.post("/roles", { name: "keepers", policies });
    expect(role.policy).toBe(JSON.stringify(policies));
    const none = await account.put(`/roles/${role.id}`, { policies: [] });
    expect(none.roles.policy).toBe("[]");
  });

  test("without policies allows nothing", async () => {
    const account = await given.account();
    expect((await account.post("/roles", { name: "none", policies: null })).roles.policy).toBe("[]");
  });

  test.each<[string, object, RegExp]>([
    ["no name", { policies: "[]" }, /^name is required/],
    ["a name of digits", { name: "7" }, /^name/],
    ["a name with a comma", { name: "a,b" }, /^name/],
    ["a policy that is not JSON", { name: "r", policies: "{" }, /^policies/],
    ["a policy that is not an array", { name: "r", policies: "{}" }, /^policies/],
    ["a policy of texts", { name: "r", policies: ["account"] }, /^policies\[0\] must be an object/],
    [
      "an unknown action",
      { name: "r", policies: '[{"resource":"account","action":["fly"],"access":"allow"}]' },
      /^policies\[0\]\.action/,
    ],
    [
      "a policy with half a character",
      { name: "r", policies: '[{"resource":"account","action":["update"],"access":"allow","note":"\ud800"}]' },
      /^policies must be well-formed Unicode/,
    ],
    ["a policy that is too long", { name: "r", policies: `[${" ".repeat(65_536)}]` }, /^policies/],
  ])("refuses %s and stores nothing", async (_case, body, message) => {
    const account = await given.account();
    await account.post("/roles", body).refused(422, message);
    expect(await roleNames(account)).toEqual(BUILT_IN);
  });

  test("a name that is taken in this account is 409", async () => {
    const [account, other] = [await given.account(), await given.account()];
    await account.post("/roles", { name: "r" });
    await account.post("/roles", { name: "r" }).refused(409, /\br\b/);
    await account.post("/roles", { name: "system-admin" }).refused(409);
    await other.post("/roles", { name: "r" });
  });
});

describe("the roles of an account", () => {
  const longest = `[${" ".repeat(65_534)}]`;

  test("can have 1 MiB of policies in total, by any operation, not counting other accounts", async () => {
    const [account, other] = [await given.account(), await given.account()];
    const { roles: first } = await account.post("/roles", { name: "r0", policies: longest });
    for (let n = 1; n < 15; n += 1) await account.post("/roles", { name: `r${n}`, policies: longest });
    const { roles: small } = await account.post("/roles", { name: "small" });
    const names = await roleNames(account);
    await account.post("/roles", { name: "more", policies: longest }).refused(422, /^policies .* 1048576 bytes/);
    await account.post(`/roles/${first.id}/duplicate`, { name: "more" }).refused(422, /^policies/);
    await account.put(`/roles/${small.id}`, { policies: longest }).refused(422, /^policies/);
    expect(await roleNames(account)).toEqual(names);
    await account.put(`/roles/${first.id}`, { policies: "[]" });
    await account.put(`/roles/${small.id}`, { policies: longest });
    await other.post("/roles", { name: "r", policies: longest });
  });

  test("are limited to 1,000", async () => {
    const account = await given.account();
    await given.app.services.db.system.query(
      "insert into access_role (account_id, name, policy) select $1, 'r' || n, '[]' from generate_series(1, 996) n",
      [account.accountId],
    );
    await account.post("/roles", { name: "more" }).refused(422, /1000/);
    const { id } = await account.get("/roles/r1");
    await account.delete(`/roles/${id}`);
    await account.post("/roles", { name: "more" });
  });
});

describe("PUT roles/<id>", () => {
  test("changes name, policy or both, effective from the next request of its holders", async () => {
    const account = await given.account();
    const member = await given.member(account);
    const { roles: role } = await account.post("/roles", { name: "r" });
    await account.post("/groups", { name: "g", members: member.email, roles: "r" });
    await member.get("/whitelist_ip").refused(403);
    expect(await account.put(`/roles/${role.id}`, { policies: WHITELIST })).toEqual({
      status: "success",
      roles: { ...role, policy: WHITELIST },
    });
    await member.get("/whitelist_ip");
    expect((await account.put(`/roles/${role.id}`, { name: "s" })).roles).toEqual({
      ...role,
      name: "s",
      policy: WHITELIST,
    });
    await account.put(`/roles/${role.id}`, { policies: "[]" });
    await member.get("/whitelist_ip").refused(403);
    expect((await account.put(`/roles/${role.id}`)).roles).toEqual({ ...role, name: "s" });
  });

  test("refuses invalid values and changes nothing", async () => {
    const account = await given.account();
    const { roles: role } = await account.post("/roles", { name: "r", policies: WHITELIST });
    await account.put(`/roles/${role.id}`, { name: "everyone", policies: "[]" }).refused(409);
    await account.put(`/roles/${role.id}`, { name: "s", policies: "no" }).refused(422, /^policies/);
    await account.put(`/roles/${role.id}`, { name: "5", policies: "[]" }).refused(422, /^name/);
    expect(await account.get(`/roles/${role.id}`)).toEqual(role);
  });

  test("an unknown role is 404 before its body is validated, and so is another account's", async () => {
    const [owner, stranger] = [await given.account(), await given.account()];
    const { roles: role } = await owner.post("/roles", { name: "r" });
    const foreign = await stranger.put(`/roles/${role.id}`, { name: "" }).refused(404);
    const unknown = await stranger.put(`/roles/${UNKNOWN}`, { name: "" }).refused(404);
    expect(withoutId(unknown, UNKNOWN)).toBe(withoutId(foreign, role.id));
    expect(await owner.get(`/roles/${role.id}`)).toEqual(role);
  });
});

describe("a role named by its name in the path", () => {
  const NAME = "run it/now";
  const PATH = `/roles/${encodeURIComponent(NAME)}`;

  test("can be edited, duplicated, deleted and asked for its groups", async () => {
    const account = await given.account();
    const { roles: role } = await account.post("/roles", { name: NAME });
    const { group } = await account.post("/groups", { name: "g", roles: NAME });
    expect((await account.put(PATH, { policies: WHITELIST })).roles).toEqual({ ...role, policy: WHITELIST });
    expect((await account.get(`${PATH}/groups`)).groups).toEqual([group]);
    expect((await account.post(`${PATH}/duplicate`, { name: "copy" })).roles).toMatchObject({ policy: WHITELIST });
    expect(await account.delete(PATH)).toEqual({ status: "success" });
    await account.get(`/roles/${role.id}`).refused(404);
    await account.delete("/roles/everyone").refused(422, /^role_id must not be the built-in role everyone/);
  });

  test("is not another account's role of that name, and an unknown name is 404 before the rest is validated", async () => {
    const [owner, stranger] = [await given.account(), await given.account()];
    const { roles: role } = await owner.post("/roles", { name: NAME });
    const unknown = await stranger.put(`/roles/${UNKNOWN}`, {}).refused(404);
    for (const call of [
      stranger.put(PATH, { name: "" }),
      stranger.post(`${PATH}/duplicate`, {}),
      stranger.get(`${PATH}/groups?per_page=0`),
      stranger.delete(PATH),
    ]) {
      expect(withoutId(await call.refused(404), NAME)).toBe(withoutId(unknown, UNKNOWN));
    }
    expect(await owner.get(PATH)).toEqual(role);
  });
});

describe("built-in roles", () => {
  test.each(BUILT_IN)("%s cannot be changed or deleted", async (name) => {
    const account = await given.account();
    const role = await account.get(`/roles/${name}`);
    await account.put(`/roles/${role.id}`, { name: "other" }).refused(422, /^name/);
    await account.put(`/roles/${role.id}`, { policies: WHITELIST }).refused(422, /^policies/);
    await account.delete(`/roles/${role.id}`).refused(422, /^role_id/);
    expect(await account.get(`/roles/${role.id}`)).toEqual(role);
    expect((await account.put(`/roles/${role.id}`, { name })).roles).toEqual(role);
  });
});

describe("POST roles/<id>/duplicate", () => {
  test("creates a role with the same policy that can be changed", async () => {
    const account = await given.account();
    const original = await account.get("/roles/system-user");
    const { status, roles: copy } = await account.post(`/roles/${original.id}/duplicate`, { name: "copy" });
    expect(status).toBe("success");
    expect(copy).toEqual({ ...original, id: expect.any(Number), name: "copy", source: "custom" });
    expect((await account.get(`/roles/${copy.id}/groups`)).groups).toEqual([]);
    await account.put(`/roles/${copy.id}`, { policies: "[]" });
    expect(await account.get("/roles/system-user")).toEqual(original);
  });

  test("a taken name is 409, an invalid one 422, and an unknown role 404 before that", async () => {
    const [account, stranger] = [await given.account(), await given.account()];
    const { id } = await account.get("/roles/system-user");
    await account.post(`/roles/${id}/duplicate`, { name: "everyone" }).refused(409);
    await account.post(`/roles/${id}/duplicate`, {}).refused(422, /^name is required/);
    await stranger.post(`/roles/${id}/duplicate`, {}).refused(404);
    expect(await roleNames(account)).toEqual(BUILT_IN);
  });
});

describe("DELETE roles/<id>", () => {
  test("removes the role from every group, effective from the next request of their members", async () => {
    const account = await given.account();
    const member = await given.member(account);
    const { roles: role } = await account.post("/roles", { name: "r", policies: WHITELIST });
    const { group } = await account.post("/groups", { name: "g", members: member.email, roles: "r" });
    await member.get("/whitelist_ip");
    expect(await account.delete(`/roles/${role.id}`)).toEqual({ status: "success" });
    await member.get("/whitelist_ip").refused(403);
    expect((await account.get(`/groups/${group.id}/roles`)).roles).toEqual([]);
    await account.delete(`/roles/${role.id}`).refused(404);
  });

  test("another account's role is not deleted, and the reply is that for an unknown one", async () => {
    const [owner, stranger] = [await given.account(), await given.account()];
    const { roles: role } = await owner.post("/roles", { name: "r" });
    const foreign = await stranger.delete(`/roles/${role.id}`).refused(404);
    const unknown = await stranger.delete(`/roles/${UNKNOWN}`).refused(404);
    expect(withoutId(unknown, UNKNOWN)).toBe(withoutId(foreign, role.id));
    expect(await owner.get(`/roles/${role.id}`)).toEqual(role);
  });
});
