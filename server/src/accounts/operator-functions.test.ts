import { describe, expect, test } from "vitest";
import { Client } from "../../test/support/client.ts";
import { useServer } from "../../test/support/given.ts";
import { deleteAccount } from "./delete-account.ts";
import { setAccountRole } from "./set-account-role.ts";

const given = useServer();

describe("deleteAccount", () => {
  const remove = (id: number): Promise<void> => given.app.services.db.asSystem((tx) => deleteAccount(tx, id));

  test("deletes everything of the account, and its users without another account", async () => {
    const first = await given.operator();
    const account = await given.account();
    const onlyHere = await given.member(account, { groups: ["system-user"] });
    const elsewhere = await given.member(account);
    await given.member(first, { email: elsewhere.email });
    await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }, { headers: { "Idempotency-Key": "k" } });
    const child = await account.post("/account", { account: { name: "Child", sub_account_creation: true } });

    await remove(account.accountId);

    await account.get("/account").refused(401);
    await onlyHere.get("/account").refused(401);
    const users = await given.app.services.db.system.query<{ email: string }>(
      "select email from app_user where email = any ($1) order by email",
      [[onlyHere.email, elsewhere.email, account.email]],
    );
    expect(users.map(({ email }) => email).toSorted()).toEqual([account.email, elsewhere.email].toSorted());
    expect((await new Client(given.base, child.authentication_token).get("/account")).name).toBe("Child");
  });

  test("refuses the first account, and an unknown account is not found", async () => {
    const first = await given.operator();
    await expect(remove(first.accountId)).rejects.toThrow(/first account/);
    await expect(remove(987_654_321)).rejects.toMatchObject({ code: "not-found" });
    await first.get("/account");
  });
});

describe("setAccountRole", () => {
  const role = (id: number, arn: string | null, externalId: string | null): Promise<void> =>
    given.app.services.db.asSystem((tx) => setAccountRole(tx, id, arn, externalId));

  test("sets the role and removes it again", async () => {
    const account = await given.account();
    await role(account.accountId, "arn:aws-us-gov:iam::123456789012:role/path/name", null);
    const view = await account.get("/account");
    expect(view).toMatchObject({ is_aws_role_enabled: true });
    expect(view).not.toHaveProperty("external_id");
    await role(account.accountId, null, null);
    expect(await account.get("/account")).not.toHaveProperty("role_arn");
  });

  test.each([
    ["arn:aws:iam::12:role/x", null, /role_arn/],
    ["arn:aws:iam::123456789012:user/x", null, /role_arn/],
    ["", null, /role_arn/],
    ["arn:aws:iam::123456789012:role/x", "a b", /external_id/],
    [null, "word", /external_id needs a role_arn/],
  ])("refuses %j with %j", async (arn, externalId, message) => {
    const account = await given.account();
    await expect(role(account.accountId, arn, externalId)).rejects.toThrow(message);
  });

  test("an unknown account is not found", async () => {
    await expect(role(987_654_321, null, null)).rejects.toMatchObject({ code: "not-found" });
  });
});
