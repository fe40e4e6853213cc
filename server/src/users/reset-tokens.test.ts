import { describe, expect, test } from "vitest";
import { Client } from "../../test/support/client.ts";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { roleHolder } from "../../test/support/role-holder.ts";

const given = useSharedServer();

interface Token {
  email: string;
  authentication_token: string;
}

function clientOf({ authentication_token: token }: Token): Client {
  return new Client(given.base, token);
}

/** Calls an operation that every active member may use. */
async function isValid(client: Client): Promise<boolean> {
  const { status } = await client.get("/accounts/get_users").reply();
  return status !== 401;
}

async function tokensOf(account: AccountClient): Promise<number> {
  const rows = await given.app.services.db.system.query("select from api_token where account_id = $1", [
    account.accountId,
  ]);
  return rows.length;
}

describe("PUT accounts/token for the caller", () => {
  test.each([undefined, {}, { emails: null, groups: "" }])("with %j every user gets a new token", async (body) => {
    const account = await given.account();
    const member = await given.member(account);
    const { status, tokens } = await member.put("/accounts/token", body);
    expect(status).toBe("success");
    expect(tokens).toEqual([{ email: member.email, authentication_token: expect.stringMatching(/^hg_/) }]);
    expect(await isValid(clientOf(tokens[0]))).toBe(true);
    expect(await isValid(member)).toBe(false);
    expect(await isValid(account)).toBe(true);
  });

  test("with an overlap the old token stays valid for exactly that time", async () => {
    const account = await given.account();
    const { tokens } = await account.put("/accounts/token", { overlap_minutes: "90" });
    expect(await isValid(account)).toBe(true);
    expect(await isValid(clientOf(tokens[0]))).toBe(true);
    const rows = await given.app.services.db.system.query(
      `select o.expires_at - n.created_at = interval '90 minutes' as exact
         from api_token o join api_token n using (membership_id)
        where o.account_id = $1 and o.expires_at is not null and n.expires_at is null`,
      [account.accountId],
    );
    expect(rows).toEqual([{ exact: true }]);
  });

  test("a reset without overlap ends all older tokens, including those of earlier overlaps", async () => {
    const account = await given.account();
    const first = (await account.put("/accounts/token", { overlap_minutes: 60 })).tokens[0];
    const second = (await account.put("/accounts/token")).tokens[0];
    expect(await Promise.all([account, clientOf(first), clientOf(second)].map(isValid))).toEqual([false, false, true]);
  });

  test("several concurrent resets all succeed, and one token is left", async () => {
    const account = await given.account();
    const replies = await Promise.all([1, 2, 3, 4].map(() => account.put("/accounts/token").reply()));
    const tokens = replies.filter(({ status }) => status === 200).map(({ body }) => clientOf(body.tokens[0]));
    expect(replies.filter(({ status }) => status !== 200 && status !== 401)).toEqual([]);
    expect((await Promise.all(tokens.map(isValid))).filter(Boolean)).toHaveLength(1);
  });
});

describe("PUT accounts/token for others", () => {
  test("resets by e-mail and by group, each user once", async () => {
    const account = await given.account();
    const [ann, bob, cid] = [
      await given.member(account),
      await given.member(account, { groups: ["dashboard-user"] }),
      await given.member(account, { groups: ["dashboard-user"], state: "disabled" }),
    ];
    const { tokens } = await account.put("/accounts/token", {
      emails: `${ann.email.toUpperCase()}, ${bob.email}`,
      groups: "dashboard-user",
    });
    expect(tokens.map(({ email }: Token) => email)).toEqual([ann.email, bob.email, cid.email]);
    expect(await Promise.all([ann, bob, cid].map(isValid))).toEqual([false, false, false]);
    expect(await Promise.all(tokens.map(clientOf).map(isValid))).toEqual([true, true, true]);
    await clientOf(tokens[2])
      .get("/accounts/get_users")
      .refused(403, /disabled/);
  });

  test("the group everyone includes every active user and the caller", async () => {
    const account = await given.account();
    const member = await given.member(account);
    await given.member(account, { state: "disabled" });
    const { tokens } = await account.put("/accounts/token", { groups: "everyone", overlap_minutes: 1 });
    expect(tokens.map(({ email }: Token) => email)).toEqual([account.email, member.email]);
  });

  test.each([
    [{ emails: "nobody@example.test" }, /^emails .*nobody@example\.test/],
    [{ emails: "7" }, /^emails .* 7/],
    [{ groups: "nobodies" }, /^groups .*nobodies/],
    [{ groups: "system-admin", emails: "nobody@example.test" }, /^emails /],
    [{ overlap_minutes: 10_081 }, /^overlap_minutes must be at most 10080/],
    [{ overlap_minutes: -1 }, /^overlap_minutes must be at least 0/],
    [{ overlap_minutes: 1.5 }, /^overlap_minutes must be an integer/],
  ])("refuses %j and resets nothing", async (body, message) => {
    const account = await given.account();
    await account.put("/accounts/token", body).refused(422, message);
    expect(await isValid(account)).toBe(true);
    expect(await tokensOf(account)).toBe(1);
  });

  test.each(["emails", "groups"])("a refusal repeats only a part of long %s", async (field) => {
    const account = await given.account();
    const { text } = await account.put("/accounts/token", { [field]: "x".repeat(60_000) }).refused(422, / x{200}…$/);
    expect(text.length).toBeLessThan(400);
  });

  test("one unknown user among many resets no token", async () => {
    const account = await given.account();
    const member = await given.member(account);
    await account.put("/accounts/token", { emails: `${member.email},nobody@example.test` }).refused(422, /^emails /);
    expect(await isValid(member)).toBe(true);
  });

  test("users and groups of another account are unknown", async () => {
    const [account, stranger] = [await given.account(), await given.account()];
    const { group } = await stranger.post("/groups", { name: "theirs", members: stranger.email });
    await account.put("/accounts/token", { emails: stranger.email }).refused(422, /^emails /);
    await account.put("/accounts/token", { groups: group.id }).refused(422, /^groups /);
    expect(await isValid(stranger)).toBe(true);
  });

  test("needs system-admin or a role that allows svc_user:update", async () => {
    const account = await given.account();
    const member = await given.member(account);
    const plain = await given.member(account);
    await plain.put("/accounts/token", { emails: member.email }).refused(403, /svc_user:update/);
    await plain.put("/accounts/token", { groups: "dashboard-user" }).refused(403, /svc_user:update/);
    expect(await isValid(member)).toBe(true);
    await (await roleHolder(given, account, "svc_user:update")).put("/accounts/token", { emails: member.email });
  });

  test("only a system-admin can reset a system-admin's token", async () => {
    const account = await given.account();
    const member = await roleHolder(given, account, "svc_user:update");
    const other = await given.member(account);
    for (const body of [
      { emails: account.email },
      { emails: `${other.email},${account.email}` },
      { groups: "system-admin" },
      { groups: "everyone" },
    ]) {
      await member.put("/accounts/token", body).refused(403, /Only a system-admin/);
    }
    expect(await Promise.all([account, other].map(isValid))).toEqual([true, true]);
  });

  test("users cannot reset the token of a user with privileges over groups, roles or users that they lack", async () => {
    const account = await given.account();
    const clerk = await roleHolder(given, account, "svc_user:update");
    const author = await roleHolder(given, account, "role:update");
    const { group } = await account.post("/groups", { name: "deputies", roles: "system-admin" });
    const deputy = await given.member(account, { groups: ["deputies"] });
    for (const body of [{ emails: author.email }, { emails: deputy.email }, { groups: group.id }]) {
      await clerk.put("/accounts/token", body).refused(403, /privileges over/);
    }
    expect(await Promise.all([author, deputy].map(isValid))).toEqual([true, true]);
    const peer = await roleHolder(given, account, "svc_user:update");
    await clerk.put("/accounts/token", { emails: peer.email });
    await deputy.put("/accounts/token", { emails: author.email });
    await clerk.put("/accounts/token");
  });

  test("only an operator can reset an operator's token", async () => {
    const operator = await given.operator();
    const admin = await given.member(operator, { groups: ["system-admin"] });
    await admin.put("/accounts/token", { emails: operator.email }).refused(403, /only an operator/);
    expect(await isValid(operator)).toBe(true);
  });
});
