import { describe, expect, test } from "vitest";
import { useSharedServer, type AccountClient } from "../../../test/support/given.ts";
import { withoutId } from "../../../test/support/without-id.ts";

const given = useSharedServer();
const BUILT_IN = ["dashboard-user", "everyone", "system-admin", "system-user"];
const UNKNOWN = 987_654_321;

async function groupNames(account: AccountClient): Promise<string[]> {
  return (await account.get("/groups?per_page=100")).groups.map(({ name }: { name: string }) => name);
}

async function emailsOf(account: AccountClient, groupId: number): Promise<string[]> {
  return (await account.get(`/groups/${groupId}/svc_users`)).users.map(({ email }: { email: string }) => email);
}

async function roleNamesOf(account: AccountClient, groupId: number): Promise<string[]> {
  return (await account.get(`/groups/${groupId}/roles`)).roles.map(({ name }: { name: string }) => name);
}

describe("GET groups", () => {
  test("a new account has the built-in groups, sorted by name", async () => {
    const account = await given.account();
    expect(await account.get("/groups")).toEqual({
      paging_info: { previous_page: null, next_page: null, per_page: 10 },
      groups: BUILT_IN.map((name) => ({
        id: expect.any(Number),
        name,
        source: "system",
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      })),
    });
  });

  test("is paged, and empty past the end", async () => {
    const account = await given.account();
    const page = await account.get("/groups?page=2&per_page=2");
    expect(page.groups.map(({ name }: { name: string }) => name)).toEqual(BUILT_IN.slice(2));
    expect(page.paging_info).toEqual({ previous_page: 1, next_page: null, per_page: 2 });
    expect((await account.get("/groups?page=1&per_page=3")).paging_info.next_page).toBe(2);
    expect((await account.get("/groups?page=9")).groups).toEqual([]);
    await account.get("/groups?per_page=101").refused(422, /^per_page/);
    await account.get("/groups?page=0").refused(422, /^page/);
  });
});

describe("GET groups/<id or name>", () => {
  test("returns the same group by id and by name, also if the name needs escaping", async () => {
    const account = await given.account();
    const { group } = await account.post("/groups", { name: "Ü/b & c" });
    expect(await account.get(`/groups/${group.id}`)).toEqual(group);
    expect(await account.get(`/groups/${encodeURIComponent("Ü/b & c")}`)).toEqual(group);
  });

  test("an unknown id or name, and another account's, get the same reply", async () => {
    const [owner, stranger] = [await given.account(), await given.account()];
    const { group } = await owner.post("/groups", { name: "secret" });
    const foreign = await stranger.get(`/groups/${group.id}`).refused(404);
    for (const reference of ["secret", UNKNOWN, "0", "99999999999999999999", "nobody"]) {
      const unknown = await stranger.get(`/groups/${reference}`).refused(404);
      expect(withoutId(unknown, reference)).toBe(withoutId(foreign, group.id));
    }
  });
});

describe("POST groups", () => {
  test("creates a group with members by id and e-mail address and roles by id and name", async () => {
    const account = await given.account();
    const [ann, bob] = [await given.member(account), await given.member(account, { state: "disabled" })];
    const { id: roleId } = await account.get("/roles/dashboard-user");
    const reply = await account.post("/groups", {
      name: "analysts",
      members: `${ann.membershipId}, ${bob.email.toUpperCase()},${ann.email},`,
      roles: `${roleId},system-user`,
    });
    expect(reply).toEqual({
      status: "done",
      group: { id: expect.any(Number), name: "analysts", source: "custom", created_at: expect.any(String) },
    });
    expect(await emailsOf(account, reply.group.id)).toEqual([ann.email, bob.email]);
    expect(await roleNamesOf(account, reply.group.id)).toEqual(["dashboard-user", "system-user"]);
  });

  test("accepts null and empty lists as none, and a number as a list of one", async () => {
    const account = await given.account();
    const member = await given.member(account);
    const { group } = await account.post("/groups", { name: "empty", members: "", roles: null });
    expect(await emailsOf(account, group.id)).toEqual([]);
    const { group: one } = await account.post("/groups", { name: "one", members: member.membershipId });
    expect(await emailsOf(account, one.id)).toEqual([member.email]);
  });

  test("a name that is taken in this account is 409", async () => {
    const [account, other] = [await given.account(), await given.account()];
    await account.post("/groups", { name: "analysts" });
    await account.post("/groups", { name: "analysts" }).refused(409, /analysts/);
    await account.post("/groups", { name: "everyone" }).refused(409);
    await other.post("/groups", { name: "analysts" });
  });

  test("two concurrent requests with the same name create one group", async () => {
    const account = await given.account();
    const replies = await Promise.all(
      Array.from({ length: 6 }, () => account.post("/groups", { name: "race" }).reply()),
    );
    expect(replies.map(({ status }) => status).sort((a, b) => a - b)).toEqual([200, 409, 409, 409, 409, 409]);
  });

  test.each<[string, unknown]>([
    ["nothing", undefined],
    ["no characters", ""],
    ["only digits, which would be read as an id", "42"],
    ["only digits, sent as a number", 42],
    ["a comma, which splits a list", "a,b"],
    ["a line break", "a\nb"],
    ["a line separator", "a\u2028b"],
    ["a leading space", " a"],
    ["256 code points", "😀".repeat(256)],
    ["an object", { a: 1 }],
  ])("refuses a name with %s", async (_case, name) => {
    const account = await given.account();
    await account.post("/groups", { name }).refused(422, /^name/);
    expect(await groupNames(account)).toEqual(BUILT_IN);
  });

  test("a name may have 255 code points of any script", async () => {
    const account = await given.account();
    const name = "😀".repeat(255);
    expect((await account.post("/groups", { name })).group.name).toBe(name);
  });

  test("an unknown user or role, or one of another account, is 422 with its name, and nothing is stored", async () => {
    const [account, other] = [await given.account(), await given.account()];
    const [member, foreign] = [await given.member(account), await given.member(other)];
    const { roles: foreignRole } = await other.post("/roles", { name: "theirs" });
    const attempt = (lists: Record<string, string>, message: RegExp) =>
      account.post("/groups", { name: "analysts", ...lists }).refused(422, message);
    await attempt({ members: `${member.membershipId},${UNKNOWN}` }, /^members contains an unknown user: 987654321$/);
    await attempt({ members: `${foreign.membershipId}` }, new RegExp(`unknown user: ${foreign.membershipId}$`));
    await attempt({ members: `${member.email},${foreign.email}` }, new RegExp(`unknown user: ${foreign.email}$`));
    await attempt({ members: "99999999999999999999" }, /^members contains an unknown user/);
    await attempt({ roles: "system-user,nothing" }, /^roles contains an unknown role: nothing$/);
    await attempt({ roles: `${foreignRole.id}` }, /^roles contains an unknown role/);
    expect(await groupNames(account)).toEqual(BUILT_IN);
  });

  test("two requests with the same idempotency key create one group", async () => {
    const account = await given.account();
    const headers = { "Idempotency-Key": "once" };
    const first = await account.post("/groups", { name: "analysts" }, { headers });
    expect(await account.post("/groups", { name: "analysts" }, { headers })).toEqual(first);
  });
});

describe("PUT groups/<id>", () => {
  test("renames, adds and removes in one request", async () => {
    const account = await given.account();
    const [ann, bob] = [await given.member(account), await given.member(account)];
    const { group } = await account.post("/groups", { name: "old", members: ann.email, roles: "system-user" });
    expect(
      await account.put(`/groups/${group.id}`, {
        name: "new",
        members: bob.email,
        removed_members: ann.email,
        roles: "dashboard-user",
        removed_roles: "system-user",
      }),
    ).toEqual({ status: "done", group: { ...group, name: "new" } });
    expect(await emailsOf(account, group.id)).toEqual([bob.email]);
    expect(await roleNamesOf(account, group.id)).toEqual(["dashboard-user"]);
  });

  test("an empty body changes nothing, nor does adding twice or removing a user who is not in the group", async () => {
    const account = await given.account();
    const member = await given.member(account);
    const { group } = await account.post("/groups", { name: "g", members: member.email });
    expect(await account.put(`/groups/${group.id}`)).toEqual({ status: "done", group });
    await account.put(`/groups/${group.id}`, { name: "g", members: member.email, removed_roles: "system-user" });
    expect(await emailsOf(account, group.id)).toEqual([member.email]);
  });

  test("is all or nothing", async () => {
    const account = await given.account();
    const member = await given.member(account);
    const { group } = await account.post("/groups", { name: "g" });
    await account.post("/groups", { name: "taken" });
    const attempt = (body: object, status: number, message: RegExp) =>
      account.put(`/groups/${group.id}`, { members: member.email, ...body }).refused(status, message);
    await attempt({ name: "taken" }, 409, /taken/);
    await attempt({ name: "77" }, 422, /^name/);
    await attempt({ removed_members: "nobody@example.test" }, 422, /^removed_members .* nobody@example\.test$/);
    await attempt({ roles: "nothing" }, 422, /^roles .* nothing$/);
    await attempt({ removed_roles: "nothing" }, 422, /^removed_roles .* nothing$/);
    await attempt({ removed_members: `${member.membershipId}` }, 422, /^removed_members/);
    await attempt({ roles: "system-user", removed_roles: "system-user" }, 422, /^removed_roles/);
    expect(await account.get(`/groups/${group.id}`)).toEqual(group);
    expect(await emailsOf(account, group.id)).toEqual([]);
  });

  test("an unknown group is 404 before its body is validated, and so is another account's", async () => {
    const [owner, stranger] = [await given.account(), await given.account()];
    const { group } = await owner.post("/groups", { name: "g" });
    const foreign = await stranger.put(`/groups/${group.id}`, { name: "" }).refused(404);
    for (const id of [UNKNOWN, "g", "1.5", "-1"]) {
      const unknown = await stranger.put(`/groups/${id}`, { name: "" }).refused(404);
      expect(withoutId(unknown, id)).toBe(withoutId(foreign, group.id));
    }
    expect(await owner.get(`/groups/${group.id}`)).toEqual(group);
  });
});

describe("built-in groups", () => {
  test.each(BUILT_IN)("%s cannot be renamed or deleted, or lose its own role", async (name) => {
    const account = await given.account();
    const { id } = await account.get(`/groups/${name}`);
    await account.put(`/groups/${id}`, { name: "other" }).refused(422, /^name/);
    await account.put(`/groups/${id}`, { removed_roles: name }).refused(422, /^roles/);
    await account.put(`/groups/${id}/roles/${name}/unassign`, {}).refused(422, /^roles/);
    await account.delete(`/groups/${id}`).refused(422, /^group_id/);
    expect(await groupNames(account)).toEqual(BUILT_IN);
    expect(await roleNamesOf(account, id)).toEqual([name]);
  });

  test("can get more roles and members, and lose those again", async () => {
    const account = await given.account();
    const member = await given.member(account);
    const { id } = await account.get("/groups/system-user");
    const extra = { members: member.email, roles: "dashboard-user" };
    expect((await account.put(`/groups/${id}`, { name: "system-user", ...extra })).group.name).toBe("system-user");
    expect(await emailsOf(account, id)).toEqual([member.email]);
    await account.put(`/groups/${id}`, { removed_members: member.email, removed_roles: "dashboard-user" });
    expect(await emailsOf(account, id)).toEqual([]);
    expect(await roleNamesOf(account, id)).toEqual(["system-user"]);
  });

  test("everyone contains exactly the active members, and cannot be edited", async () => {
    const account = await given.account();
    const active = await given.member(account);
    for (const state of ["pending", "disabled"] as const) await given.member(account, { state });
    const { id } = await account.get("/groups/everyone");
    expect(await emailsOf(account, id)).toEqual([account.email, active.email]);
    await account.put(`/groups/${id}`, { members: active.email }).refused(422, /^members/);
    await account.put(`/groups/${id}`, { removed_members: active.email }).refused(422, /^members/);
    await account.put(`/groups/${id}/svc_users/${active.email}/add`).refused(422, /^members/);
    await account.put(`/groups/${id}/svc_users/${active.email}/remove`).refused(422, /^members/);
  });
});

describe("DELETE groups/<id>", () => {
  test("deletes the group, and its members lose the permissions of its roles", async () => {
    const account = await given.account();
    const member = await given.member(account);
    const { group } = await account.post("/groups", { name: "g", members: member.email, roles: "system-user" });
    await member.get("/whitelist_ip");
    expect(await account.delete(`/groups/${group.id}`)).toEqual({ status: "success" });
    await member.get("/whitelist_ip").refused(403);
    await account.get(`/groups/${group.id}`).refused(404);
    await account.delete(`/groups/${group.id}`).refused(404);
  });

  test("another account's group is not deleted, and the reply is that for an unknown one", async () => {
    const [owner, stranger] = [await given.account(), await given.account()];
    const { group } = await owner.post("/groups", { name: "g" });
    const foreign = await stranger.delete(`/groups/${group.id}`).refused(404);
    const unknown = await stranger.delete(`/groups/${UNKNOWN}`).refused(404);
    expect(withoutId(unknown, UNKNOWN)).toBe(withoutId(foreign, group.id));
    expect(await owner.get(`/groups/${group.id}`)).toEqual(group);
  });
});

describe("POST groups/<id>/duplicate", () => {
  test("copies members and roles; the copy is independent", async () => {
    const account = await given.account();
    const member = await given.member(account);
    const { group } = await account.post("/groups", { name: "a", members: member.email, roles: "system-user" });
    const { status, group: copy } = await account.post(`/groups/${group.id}/duplicate`, { name: "b" });
    expect({ status, copy }).toMatchObject({ status: "done", copy: { name: "b", source: "custom" } });
    await account.delete(`/groups/${group.id}`);
    expect(await emailsOf(account, copy.id)).toEqual([member.email]);
    expect(await roleNamesOf(account, copy.id)).toEqual(["system-user"]);
  });

  test("of a built-in group creates a custom one; of everyone, one with the current members", async () => {
    const account = await given.account();
    const { id } = await account.get("/groups/everyone");
    const { group: copy } = await account.post(`/groups/${id}/duplicate`, { name: "staff" });
    await given.member(account);
    expect(await emailsOf(account, copy.id)).toEqual([account.email]);
    expect(await account.delete(`/groups/${copy.id}`)).toEqual({ status: "success" });
  });

  test("a taken name is 409, an invalid one 422, and an unknown group 404 before that", async () => {
    const [account, stranger] = [await given.account(), await given.account()];
    const { id } = await account.get("/groups/system-user");
    await account.post(`/groups/${id}/duplicate`, { name: "everyone" }).refused(409);
    await account.post(`/groups/${id}/duplicate`, {}).refused(422, /^name is required/);
    await stranger.post(`/groups/${id}/duplicate`, {}).refused(404);
    expect(await groupNames(account)).toEqual(BUILT_IN);
  });
});
