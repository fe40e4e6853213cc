import { describe, expect, test } from "vitest";
import { useServer, useSharedServer } from "../../test/support/given.ts";
import { setAccountRole } from "./set-account-role.ts";

const given = useSharedServer();

describe("GET account (v1.2)", () => {
  test("shows exactly the fields of §2.4, the plan and the endpoint", async () => {
    const account = await given.account({ name: "Mine" });
    expect(await account.get("/account/")).toEqual({
      id: account.accountId,
      name: "Mine",
      storage_type: "CUSTOMER_MANAGED",
      compute_type: "CUSTOMER_MANAGED",
      storage_validated: false,
      compute_validated: false,
      is_aws_role_enabled: false,
      idle_session_timeout: 1440,
      storage_access_key: "",
      storage_secret_key: "",
      storage_location: `file://${given.dataDir}/accounts/${account.accountId}/storage`,
      authorized_ssh_key: null,
      compute_access_key: "",
      compute_secret_key: "",
      plan: "free",
      storage_endpoint: null,
    });
  });

  test("links to its successor", async () => {
    const account = await given.account();
    const { headers } = await account.get("/account").reply();
    expect(headers.get("link")).toBe('</api/v2/accounts>; rel="successor-version"');
    expect(headers.get("deprecation")).toMatch(/^@\d+$/);
  });

  test("shows the role and external id of an account that uses role-based credentials", async () => {
    const account = await given.account();
    const roleArn = "arn:aws:iam::123456789012:role/data";
    await given.app.services.db.asSystem((tx) => setAccountRole(tx, account.accountId, roleArn, "shared-word"));
    for (const path of ["/account", "/api/v2/accounts"]) {
      expect(await account.get(path)).toMatchObject({
        is_aws_role_enabled: true,
        role_arn: roleArn,
        external_id: "shared-word",
      });
    }
  });

  test("needs a role that allows it", async () => {
    const account = await given.account();
    await (await given.member(account)).get("/account").refused(403, /account:read/);
    expect((await (await given.member(account, { groups: ["system-user"] })).get("/account")).id).toBe(
      account.accountId,
    );
  });
});

describe("on a server without other requests", () => {
  const quiet = useServer();

  test("takes one round trip to the database besides the caller's check", async () => {
    const account = await quiet.account();
    await account.get("/account"); // records the login, once
    const { db } = quiet.app.services;
    const unnoted = "select from membership where account_id = $1 and last_login is null";
    await expect.poll(() => db.system.query(unnoted, [account.accountId])).toEqual([]);
    const before = db.stats().roundTrips;
    await account.get("/account");
    expect(db.stats().roundTrips - before).toBe(2);
  });
});

describe("GET accounts (v2)", () => {
  test.each([
    "/api/v2/accounts",
    "/api/v2/accounts/",
    "/api/v2/account",
    "/api/v2/account.json",
    "/api/latest/account",
  ])("%s is the whole account", async (path) => {
    const account = await given.account();
    const { status, body, headers } = await account.get(path).reply();
    expect(status).toBe(200);
    expect(body).toMatchObject({ id: account.accountId, CacheQuotaSizeInGB: 25, refresh_engine: "native" });
    expect(headers.get("deprecation")).toBeNull();
  });
});
