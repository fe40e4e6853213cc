import { describe, expect, test } from "vitest";
import { Client } from "../../test/support/client.ts";
import { newEmail, useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { roleHolder } from "../../test/support/role-holder.ts";
import { withoutId } from "../../test/support/without-id.ts";

const given = useSharedServer();
const ACCEPT = "/api/v2/invitations/accept";

/** The names of a user's groups once they have accepted and been enabled. */
async function groupsAfterJoining(account: AccountClient, code: string): Promise<string[]> {
  const { id } = await given.anonymous().post(ACCEPT, { code, name: "Joined" });
  await account.post("/accounts/enable_svc_user", { svc_user_id: id });
  const { users } = await account.get("/accounts/get_users");
  const entry = users.find((user: { id: number }) => user.id === id);
  return entry.groups.map(({ name }: { name: string }) => name);
}

async function setExpiry(code: string, interval: string): Promise<void> {
  await given.app.services.db.asSystem((tx) =>
    tx.query("update invitation set expires_at = now() + $2::interval where code_sha256 = sha256($1::bytea)", [
      Buffer.from(code),
      interval,
    ]),
  );
}

describe("POST users/invite_new", () => {
  test("an invitation without groups leads to the group system-user", async () => {
    const account = await given.account();
    const { invitation_code: code } = await account.post("/users/invite_new", { invitee_email: newEmail() });
    expect(await groupsAfterJoining(account, code)).toEqual(["system-user", "everyone"]);
  });

  test("groups are given by name or id, in one list", async () => {
    const account = await given.account();
    const { group } = await account.post("/groups", { name: "analysts" });
    const { invitation_code: code } = await account.post("/users/invite_new", {
      invitee_email: newEmail(),
      groups: ` dashboard-user, ${group.id},,everyone `,
    });
    expect(await groupsAfterJoining(account, code)).toEqual(["dashboard-user", "everyone", "analysts"]);
  });

  test("a group that was deleted before the invitation is accepted is left out", async () => {
    const account = await given.account();
    const { group } = await account.post("/groups", { name: "passing" });
    const { invitation_code: code } = await account.post("/users/invite_new", {
      invitee_email: newEmail(),
      groups: "passing,dashboard-user",
    });
    await account.delete(`/groups/${group.id}`);
    expect(await groupsAfterJoining(account, code)).toEqual(["dashboard-user", "everyone"]);
  });

  test("a service user is active at once, with its token in the reply", async () => {
    const account = await given.account();
    const email = newEmail();
    const service = await account.post("/users/invite_new", { invitee_email: email, user_type: "service" });
    expect(service).toEqual({
      status: "success",
      id: expect.any(Number),
      email,
      authentication_token: expect.stringMatching(/^hg_/),
    });
    const { users } = await new Client(given.base, service.authentication_token).get("/accounts/get_users");
    expect(users[1]).toMatchObject({ id: service.id, email, user_type: "service", disabled: false });
  });

  test("a code is stored only as its SHA-256", async () => {
    const account = await given.account();
    const { invitation_code: code } = await account.post("/users/invite_new", { invitee_email: newEmail() });
    const rows = await given.app.services.db.system.query(
      `select i::text || coalesce((select string_agg(a::text, '') from audit_event a), '') as text from invitation i
        where account_id = $1`,
      [account.accountId],
    );
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(code.slice(4));
  });

  test("a second invitation replaces the first", async () => {
    const account = await given.account();
    const email = newEmail();
    const first = await account.post("/users/invite_new", { invitee_email: email });
    const second = await account.post("/users/invite_new", { invitee_email: email.toUpperCase() });
    await given
      .anonymous()
      .post(ACCEPT, { code: first.invitation_code })
      .refused(422, /^code /);
    await given.anonymous().post(ACCEPT, { code: second.invitation_code });
  });

  test("of several concurrent invitations, one is open", async () => {
    const account = await given.account();
    const email = newEmail();
    await Promise.all(Array.from({ length: 6 }, () => account.post("/users/invite_new", { invitee_email: email })));
    const open = await given.app.services.db.system.query(
      "select from invitation where account_id = $1 and accepted_at is null",
      [account.accountId],
    );
    expect(open).toHaveLength(1);
  });

  test.each(["active", "disabled", "pending"] as const)(
    "a user who is %s in the account cannot be invited",
    async (state) => {
      const account = await given.account();
      const member = await given.member(account, { state });
      for (const type of ["regular", "service"]) {
        await account
          .post("/users/invite_new", { invitee_email: member.email.toUpperCase(), user_type: type })
          .refused(409, /already/);
      }
    },
  );

  test("of two concurrent requests for the same service user, one is 409", async () => {
    const account = await given.account();
    const email = newEmail();
    const replies = await Promise.all(
      [1, 2].map(() => account.post("/users/invite_new", { invitee_email: email, user_type: "service" }).reply()),
    );
    expect(replies.map(({ status }) => String(status)).toSorted()).toEqual(["200", "409"]);
  });

  test("the caller's own account may be named; any other is 404, whether it exists or not", async () => {
    const [account, stranger] = [await given.account({ name: "Mine" }), await given.account({ name: "Other" })];
    for (const own of [account.accountId, String(account.accountId), "Mine"]) {
      await account.post("/users/invite_new", { invitee_email: newEmail(), account: own });
    }
    const unknown = await account
      .post("/users/invite_new", { invitee_email: newEmail(), account: 987_654_321 })
      .refused(404);
    for (const other of [stranger.accountId, "Other", "Nobody's"]) {
      const reply = await account.post("/users/invite_new", { invitee_email: newEmail(), account: other }).refused(404);
      expect(withoutId(reply, other)).toBe(withoutId(unknown, 987_654_321));
    }
  });

  test.each([
    [{}, /^invitee_email is required/],
    [{ invitee_email: "" }, /^invitee_email must be an e-mail address/],
    [{ invitee_email: "no-at-sign" }, /^invitee_email must be an e-mail address/],
    [{ invitee_email: "a/b@c" }, /^invitee_email must be an e-mail address without slashes/],
    [{ invitee_email: "a@b/c", user_type: "service" }, /^invitee_email must be an e-mail address without slashes/],
    [{ invitee_email: "a@b,c@d" }, /^invitee_email must be an e-mail address/],
    [{ invitee_email: "a b@c" }, /^invitee_email must be an e-mail address/],
    [{ invitee_email: "a\u0007@c" }, /^invitee_email must be an e-mail address/],
    [{ invitee_email: `${"a".repeat(250)}@b.example` }, /^invitee_email must have at most/],
    [{ invitee_email: "a@b.example", groups: "system-user,nobodies" }, /^groups .*nobodies/],
    [{ invitee_email: "a@b.example", groups: "987654321" }, /^groups .*987654321/],
    [{ invitee_email: "a@b.example", user_type: "robot" }, /^user_type must be one of regular, service/],
  ])("refuses %j and stores nothing", async (body, message) => {
    const account = await given.account();
    await account.post("/users/invite_new", body).refused(422, message);
    const rows = await given.app.services.db.system.query("select from invitation where account_id = $1", [
      account.accountId,
    ]);
    expect(rows).toEqual([]);
  });

  test("a group of another account is unknown", async () => {
    const [account, stranger] = [await given.account(), await given.account()];
    const { group } = await stranger.post("/groups", { name: "theirs" });
    for (const [reference, type] of [
      [group.id, "regular"],
      [group.id, "service"],
      ["theirs", "service"],
    ]) {
      await account
        .post("/users/invite_new", { invitee_email: newEmail(), groups: reference, user_type: type })
        .refused(422, /^groups must contain only groups of the account/);
    }
  });

  test("needs system-admin or a role that allows svc_user:create", async () => {
    const account = await given.account();
    const user = await given.member(account, { groups: ["system-user"] });
    await user.post("/users/invite_new", { invitee_email: newEmail() }).refused(403, /svc_user:create/);
    await (
      await roleHolder(given, account, "svc_user:create")
    ).post("/users/invite_new", { invitee_email: newEmail() });
  });

  test("users cannot invite into groups with privileges that they lack", async () => {
    const account = await given.account();
    const member = await roleHolder(given, account, "svc_user:create");
    const policies = JSON.stringify([{ resource: "all", action: ["all"], access: "allow" }]);
    await account.post("/roles", { name: "everything", policies });
    await account.post("/groups", { name: "mighty", roles: "everything" });
    for (const groups of ["system-admin", "system-user,system-admin", "mighty"]) {
      for (const type of ["regular", "service"]) {
        await member
          .post("/users/invite_new", { invitee_email: newEmail(), groups, user_type: type })
          .refused(403, /privileges that you do not have/);
      }
    }
    const { invitation_code: code } = await account.post("/users/invite_new", {
      invitee_email: newEmail(),
      groups: "system-admin",
    });
    expect(await groupsAfterJoining(account, code)).toEqual(["system-admin", "everyone"]);
  });

  test("a repeated request with an idempotency key returns the same code", async () => {
    const account = await given.account();
    const headers = { "Idempotency-Key": "one" };
    const body = { invitee_email: newEmail() };
    const first = await account.post("/users/invite_new", body, { headers });
    expect(await account.post("/users/invite_new", body, { headers })).toEqual(first);
  });
});

describe("POST invitations/accept", () => {
  test("a code works once, even for two concurrent requests", async () => {
    const account = await given.account();
    const { invitation_code: code } = await account.post("/users/invite_new", { invitee_email: newEmail() });
    const replies = await Promise.all(
      ["A", "B", "C"].map((name) => given.anonymous().post(ACCEPT, { code, name }).reply()),
    );
    expect(replies.map(({ status }) => String(status)).toSorted()).toEqual(["200", "422", "422"]);
    expect((await account.get("/accounts/get_pending_users")).pending_users).toHaveLength(1);
  });

  test("an unknown, malformed, used or expired code is refused with the same message", async () => {
    const account = await given.account();
    const used = await account.post("/users/invite_new", { invitee_email: newEmail() });
    const expired = await account.post("/users/invite_new", { invitee_email: newEmail() });
    await given.anonymous().post(ACCEPT, { code: used.invitation_code });
    await setExpiry(expired.invitation_code, "-1 second");
    const texts = new Set<string>();
    for (const code of [used.invitation_code, expired.invitation_code, `hgi_${"A".repeat(43)}`, "x", ""]) {
      texts.add(
        (
          await given
            .anonymous()
            .post(ACCEPT, { code, name: "N" })
            .refused(422, /^code /)
        ).text,
      );
    }
    expect(texts.size).toBe(1);
    await setExpiry(expired.invitation_code, "1 minute");
    await given.anonymous().post(ACCEPT, { code: expired.invitation_code });
  });

  test("accepts a code for seven days", async () => {
    const account = await given.account();
    await account.post("/users/invite_new", { invitee_email: newEmail() });
    const rows = await given.app.services.db.system.query(
      "select expires_at - created_at = interval '7 days' as week from invitation where account_id = $1",
      [account.accountId],
    );
    expect(rows).toEqual([{ week: true }]);
  });

  test("a user of another account stays the same user, with a separate name in each account", async () => {
    const [home, other] = [await given.account(), await given.account()];
    const { invitation_code: code } = await other.post("/users/invite_new", { invitee_email: home.email });
    const accepted = await given.anonymous().post(ACCEPT, { code, name: "Known there by this" });
    await other.post("/accounts/enable_svc_user", { svc_user_id: accepted.id });

    const [atHome] = (await home.get("/accounts/get_users")).users;
    const [, away] = (await other.get("/accounts/get_users")).users;
    expect(atHome.name).toBe("Founder");
    expect(away).toMatchObject({ user_id: atHome.user_id, name: "Known there by this", is_admin: false });
    expect(away.id).not.toBe(atHome.id);
    const inOther = new Client(given.base, accepted.authentication_token);
    expect((await inOther.get("/accounts/get_user_emails")).emails).toEqual([other.email, home.email]);
    await home.get("/accounts/get_users");
  });

  test("the name is the e-mail address by default", async () => {
    const account = await given.account();
    const email = newEmail();
    const { invitation_code: code } = await account.post("/users/invite_new", { invitee_email: email });
    await given.anonymous().post(ACCEPT, { code });
    expect((await account.get("/accounts/get_pending_users")).pending_users).toMatchObject([{ email, name: email }]);
  });

  test("refuses a request without a code or with an invalid name, and the code stays valid", async () => {
    const account = await given.account();
    const { invitation_code: code } = await account.post("/users/invite_new", { invitee_email: newEmail() });
    await given
      .anonymous()
      .post(ACCEPT, { name: "Ada" })
      .refused(422, /^code is required/);
    await given
      .anonymous()
      .post(ACCEPT, { code: "x".repeat(101) })
      .refused(422, /^code must have at most/);
    for (const name of ["", "a\u001b[31m", "x".repeat(256)]) {
      await given
        .anonymous()
        .post(ACCEPT, { code, name })
        .refused(422, /^name /);
    }
    await given.anonymous().post(ACCEPT, { code, name: "Ada" });
  });
});
