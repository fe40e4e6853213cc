import { describe, expect, test } from "vitest";
import { useSharedServer } from "../../test/support/given.ts";
import { roleHolder } from "../../test/support/role-holder.ts";

const given = useSharedServer();

describe("GET accounts/get_users", () => {
  test("shows active and disabled users with their groups, and no users of other accounts", async () => {
    const account = await given.account();
    const stranger = await given.account();
    await given.member(stranger, { groups: ["system-user"] });
    const active = await given.member(account, { groups: ["system-user"] });
    const disabled = await given.member(account, { groups: ["dashboard-user"], state: "disabled" });
    await given.member(account, { state: "pending" });

    const { users } = await account.get("/accounts/get_users");
    expect(users.map(({ email }: { email: string }) => email)).toEqual([account.email, active.email, disabled.email]);
    const system = (name: string) => ({ id: expect.any(Number), name, source: "system" });
    expect(users[0]).toEqual({
      id: expect.any(Number),
      user_id: expect.any(Number),
      email: account.email,
      name: "Founder",
      is_admin: true,
      disabled: false,
      account_id: account.accountId,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
      last_login: expect.toBeOneOf([null, expect.any(String)]),
      groups: [system("system-admin"), system("everyone")],
      user_type: "regular",
    });
    expect(users[1]).toMatchObject({
      id: active.membershipId,
      is_admin: false,
      disabled: false,
      last_login: null,
      groups: [system("system-user"), system("everyone")],
    });
    // A disabled user is not in `everyone`, which contains active users.
    expect(users[2]).toMatchObject({ disabled: true, groups: [system("dashboard-user")] });
  });

  test("shows the last login of a user", async () => {
    const account = await given.account();
    await account.get("/accounts/get_users");
    await expect
      .poll(async () => (await account.get("/accounts/get_users")).users[0].last_login)
      .toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
  });

  test("needs a group or a role that allows account:read", async () => {
    const account = await given.account();
    for (const path of ["/accounts/get_users", "/accounts/get_user_emails", "/users", "/accounts/get_pending_users"]) {
      await (await given.member(account)).get(path).refused(403, /account:read/);
      await (await roleHolder(given, account, "account:read")).get(path);
    }
  });
});

describe("GET accounts/get_user_emails", () => {
  test("lists the e-mail addresses of get_users", async () => {
    const account = await given.account();
    const member = await given.member(account);
    await given.member(account, { state: "pending" });
    expect(await account.get("/accounts/get_user_emails")).toEqual({ emails: [account.email, member.email] });
  });
});

describe("GET accounts/get_pending_users", () => {
  test("lists the users who are waiting for approval, and none of other accounts", async () => {
    const account = await given.account();
    const stranger = await given.account();
    const pending = await given.member(account, { state: "pending" });
    expect(await account.get("/accounts/get_pending_users")).toEqual({
      pending_users: [
        {
          id: pending.membershipId,
          user_id: expect.any(Number),
          email: pending.email,
          name: pending.email,
          created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        },
      ],
    });
    expect(await stranger.get("/accounts/get_pending_users")).toEqual({ pending_users: [] });
  });
});

describe("GET users", () => {
  test("pages through the users of get_users", async () => {
    const account = await given.account();
    for (let count = 0; count < 4; count += 1) await given.member(account);
    await given.member(account, { state: "pending" });
    const { users } = await account.get("/accounts/get_users");
    expect(await account.get("/users")).toEqual({
      paging_info: { previous_page: null, next_page: null, per_page: 10 },
      users: users.map((user: object) => ({ ...user, last_login: expect.toBeOneOf([null, expect.any(String)]) })),
    });
    const second = await account.get("/users?page=2&per_page=2");
    expect(second.paging_info).toEqual({ previous_page: 1, next_page: 3, per_page: 2 });
    expect(second.users).toMatchObject([{ id: users[2].id }, { id: users[3].id }]);
    expect(await account.get("/users?page=9&per_page=2")).toEqual({
      paging_info: { previous_page: 8, next_page: null, per_page: 2 },
      users: [],
    });
  });

  test.each(["per_page=101", "per_page=0", "page=0", "page=x", "page=99999999999"])("refuses %s", async (query) => {
    const account = await given.account();
    await account.get(`/users?${query}`).refused(422, /^(per_)?page /);
  });
});
