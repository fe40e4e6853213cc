import { describe, expect, test } from "vitest";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { withoutId } from "../../test/support/without-id.ts";

const given = useSharedServer();

async function idOf(account: AccountClient): Promise<number> {
  const { users } = await account.get("/accounts/get_users");
  return users.find(({ email }: { email: string }) => email === account.email).id;
}

describe.each(["enable", "disable"])("POST accounts/%s_svc_user", (verb) => {
  const path = `/accounts/${verb}_svc_user`;

  test("accepts the id as number or text, or the e-mail address in any case, and may be repeated", async () => {
    const account = await given.account();
    const member = await given.member(account, { groups: ["system-user"] });
    const answer = { status: "success", id: member.membershipId, email: member.email };
    for (const id of [member.membershipId, ` ${member.membershipId} `, member.email, member.email.toUpperCase()]) {
      expect(await account.post(path, { svc_user_id: id })).toEqual(answer);
    }
    const { users } = await account.get("/accounts/get_users");
    expect(users[1]).toMatchObject({ id: member.membershipId, disabled: verb === "disable" });
  });

  test("an id or e-mail address of another account gets the same reply as an unknown one, and changes nothing", async () => {
    const [account, stranger] = [await given.account(), await given.account()];
    const member = await given.member(account, { state: verb === "enable" ? "pending" : "active" });
    const unknown = await stranger.post(path, { svc_user_id: "987654321" }).refused(404);
    for (const id of [
      member.membershipId,
      member.email,
      await idOf(account),
      "nobody@example.test",
      "0",
      "9".repeat(30),
    ]) {
      const foreign = await stranger.post(path, { svc_user_id: id }).refused(404);
      expect(withoutId(foreign, id)).toBe(withoutId(unknown, "987654321"));
    }
    const refused = await member.get("/accounts/get_users").refused(403);
    expect(refused.text).toMatch(verb === "enable" ? /approval/ : /account:read/);
  });

  test("refuses a request without a user, or with too long a value", async () => {
    const account = await given.account();
    await account.post(path, {}).refused(422, /^svc_user_id is required/);
    await account.post(path, { svc_user_id: null }).refused(422, /^svc_user_id is required/);
    await account.post(path, { svc_user_id: "" }).refused(422, /^svc_user_id must not be empty/);
    await account.post(path, { svc_user_id: "x".repeat(255) }).refused(422, /^svc_user_id must have at most/);
    await account.post(path, { svc_user_id: [1] }).refused(422, /^svc_user_id must be a string/);
  });

  test("a user without the permission is refused, a system-user is not", async () => {
    const account = await given.account();
    const member = await given.member(account);
    await (await given.member(account)).post(path, { svc_user_id: member.email }).refused(403, /svc_user:update/);
    await (await given.member(account, { groups: ["system-user"] })).post(path, { svc_user_id: member.email });
  });
});

describe("POST accounts/enable_svc_user", () => {
  test("restores the groups that the user had", async () => {
    const account = await given.account();
    const member = await given.member(account, { groups: ["system-user"], state: "disabled" });
    await account.post("/accounts/enable_svc_user", { svc_user_id: member.membershipId });
    const { users } = await member.get("/accounts/get_users");
    expect(users[1].groups.map(({ name }: { name: string }) => name)).toEqual(["system-user", "everyone"]);
  });
});

describe("POST accounts/disable_svc_user", () => {
  test("users cannot disable themselves", async () => {
    const account = await given.account();
    await given.member(account, { groups: ["system-admin"] });
    await account.post("/accounts/disable_svc_user", { svc_user_id: account.email }).refused(422, /yourself/);
    await account.post("/accounts/disable_svc_user", { svc_user_id: await idOf(account) }).refused(422, /yourself/);
  });

  test("the last active system-admin cannot be disabled", async () => {
    const account = await given.account();
    const user = await given.member(account, { groups: ["system-user"] });
    await given.member(account, { groups: ["system-admin"], state: "disabled" });
    await given.member(account, { groups: ["system-admin"], state: "pending" });
    await user
      .post("/accounts/disable_svc_user", { svc_user_id: account.email })
      .refused(422, /last active system-admin/);
    await account.get("/accounts/get_users");
  });

  test("a system-admin can be disabled by a system-admin, not by a system-user", async () => {
    const account = await given.account();
    const admin = await given.member(account, { groups: ["system-admin"] });
    const user = await given.member(account, { groups: ["system-user"] });
    await user.post("/accounts/disable_svc_user", { svc_user_id: admin.email }).refused(403, /Only a system-admin/);
    await admin.get("/accounts/get_users");
    await account.post("/accounts/disable_svc_user", { svc_user_id: admin.email });
    await admin.get("/accounts/get_users").refused(403, /disabled/);
  });

  test("an operator can be disabled only by operators", async () => {
    const operator = await given.operator();
    const admin = await given.member(operator, { groups: ["system-admin"] });
    await admin.post("/accounts/disable_svc_user", { svc_user_id: operator.email }).refused(403, /only an operator/);
    await operator.get("/accounts/get_users");
  });

  test("a pending user can be rejected", async () => {
    const account = await given.account();
    const pending = await given.member(account, { state: "pending" });
    await account.post("/accounts/disable_svc_user", { svc_user_id: pending.membershipId });
    expect((await account.get("/accounts/get_pending_users")).pending_users).toEqual([]);
    await pending.get("/accounts/get_users").refused(403, /disabled/);
  });

  test("of admins who disable each other at the same time, one remains", async () => {
    for (let round = 0; round < 5; round += 1) {
      const first = await given.account();
      const others = [
        await given.member(first, { groups: ["system-admin"] }),
        await given.member(first, { groups: ["system-admin"] }),
      ];
      const admins = [first, ...others];
      await Promise.all(
        admins.map((admin, index) =>
          admin.post("/accounts/disable_svc_user", { svc_user_id: admins[(index + 1) % admins.length]?.email }).reply(),
        ),
      );
      const replies = await Promise.all(admins.map((admin) => admin.get("/accounts/get_users").reply()));
      expect(replies.map(({ status }) => status)).toContain(200);
    }
  });
});
