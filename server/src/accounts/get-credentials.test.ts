import { describe, expect, test } from "vitest";
import { useServer, useSharedServer } from "../../test/support/given.ts";

const given = useSharedServer();
const PATH = "/accounts/get_creds";

describe("GET accounts/get_creds", () => {
  test("shows exactly the storage keys and their endpoint, and is audited", async () => {
    const account = await given.account();
    await account.put("/api/v2/accounts", {
      acc_key: "AKIAABCDEFGHIJKLWXYZ",
      secret: "the secret",
      aws_region: "eu-west-1",
    });
    const member = await given.member(account, { groups: ["system-user"] });
    expect(await member.get(PATH)).toEqual({
      storage_access_key: "AKIAABCDEFGHIJKLWXYZ",
      storage_secret_key: "the secret",
      session_token: null,
      region_endpoint: "s3.eu-west-1.amazonaws.com",
    });
    const rows = await given.app.services.db.system.query(
      "select email, object, outcome from audit_event where account_id = $1 and operation = 'account_credentials'",
      [account.accountId],
    );
    expect(rows).toEqual([{ email: member.email, object: `account/${account.accountId}`, outcome: "done" }]);
  });

  test("an account without keys has null, and the provider's endpoint", async () => {
    const account = await given.account();
    expect(await account.get(`/api/v2${PATH}`)).toEqual({
      storage_access_key: null,
      storage_secret_key: null,
      session_token: null,
      region_endpoint: "s3.amazonaws.com",
    });
  });

  test("the account's own endpoint is shown as host and port", async () => {
    const account = await given.account();
    await account.put("/api/v2/accounts", { storage_endpoint: "http://s3.example.com:9000", aws_region: "us-east-1" });
    expect((await account.get(PATH)).region_endpoint).toBe("s3.example.com:9000");
  });

  test("is refused to callers who may not submit commands", async () => {
    const member = await given.member(await given.account());
    await member.get(PATH).refused(403, /command:create/);
  });
});

describe("with an object store of the deployment", () => {
  const deployment = useServer({ settings: { HEADGATE_S3_ENDPOINT: "https://store.example.com" } });

  test("accounts without an endpoint use it", async () => {
    const account = await deployment.account();
    expect((await account.get(PATH)).region_endpoint).toBe("store.example.com");
    expect((await account.get("/account")).storage_endpoint).toBeNull();
  });
});
