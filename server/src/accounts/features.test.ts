import { describe, expect, test } from "vitest";
import { useServer, useSharedServer } from "../../test/support/given.ts";
import { setFeatures } from "./set-features.ts";

const given = useSharedServer();
const OFF = {
  ip_whitelisting: false,
  aggressive_downscaling: false,
  data_store_catalogs: false,
  large_scripts: false,
  large_inline_content: false,
  script_macros: false,
  closed_clusters: false,
};

const path = (accountId: number | string): string => `/api/v2/accounts/${accountId}/features`;

describe("accounts/<id>/features", () => {
  test("all are disabled by default; those in the request change, the others do not", async () => {
    const [operator, account] = [await given.operator(), await given.account()];
    expect(await operator.get(path(account.accountId))).toEqual({ features: OFF });
    expect(
      await operator.put(path(account.accountId), { features: { large_scripts: true, script_macros: "True" } }),
    ).toEqual({ features: { ...OFF, large_scripts: true, script_macros: true } });
    await operator.put(path(account.accountId), { features: { script_macros: false, large_inline_content: null } });
    expect(await operator.get(path(account.accountId))).toEqual({ features: { ...OFF, large_scripts: true } });
  });

  test("a feature applies from the next request on", async () => {
    const [operator, account] = [await given.operator(), await given.account()];
    const edit = { idle_cluster_timeout_in_secs: 300 };
    await account.put("/api/v2/accounts", edit).refused(422, /aggressive_downscaling/);
    await operator.put(path(account.accountId), { features: { aggressive_downscaling: true } });
    expect(await account.put("/api/v2/accounts", edit)).toMatchObject(edit);
  });

  test("is audited with the account", async () => {
    const [operator, account] = [await given.operator(), await given.account()];
    await operator.put(path(account.accountId), { features: { large_scripts: true } });
    const rows = await given.app.services.db.system.query(
      "select account_id, email from audit_event where operation = 'account_features_edit' and object = $1",
      [`account/${account.accountId}`],
    );
    expect(rows).toEqual([{ account_id: operator.accountId, email: operator.email }]);
  });

  test.each([
    [{}, /^features is required/],
    [{ features: { teleport: true } }, /^features must contain only ip_whitelisting/],
    [{ features: { ["__proto__"]: true } }, /^features must contain only/],
    [{ features: { toString: true } }, /^features must contain only/],
    [{ features: { large_scripts: "maybe" } }, /^features.large_scripts must be a boolean/],
    [{ features: ["large_scripts"] }, /^features must be an object/],
  ])("refuses %j and changes nothing", async (body, message) => {
    const [operator, account] = [await given.operator(), await given.account()];
    await operator.put(path(account.accountId), body).refused(422, message);
    expect(await operator.get(path(account.accountId))).toEqual({ features: OFF });
  });

  test.each(["999999999", "0", "x", "99999999999999999999"])("the account %s is 404, whatever the body", async (id) => {
    const operator = await given.operator();
    await operator.get(path(id)).refused(404);
    await operator.put(path(id), { features: 1 }).refused(404);
  });

  test("is the same 404 for everyone but operators, for their own, another and an unknown account", async () => {
    const [account, other] = [await given.account(), await given.account()];
    const texts = [];
    for (const id of [account.accountId, other.accountId, 987654321]) {
      const replies = [
        await account.get(path(id)).refused(404),
        await account.put(path(id), { features: { large_scripts: true } }).refused(404),
      ];
      texts.push(...replies.map(({ text }) => text.replace(/GET|PUT/, "…").replace(String(id), "…")));
    }
    expect(new Set(texts).size).toBe(1);
    expect(await (await given.operator()).get(path(account.accountId))).toEqual({ features: OFF });
  });
});

describe("enabling the whitelist", () => {
  const on = { features: { ip_whitelisting: true } };

  test("is refused while the list is empty, from the operator's commands too", async () => {
    const [operator, account] = [await given.operator(), await given.account()];
    await operator.put(path(account.accountId), on).refused(422, /^ip_whitelisting .*empty/);
    await expect(
      given.app.services.db.asSystem((tx) => setFeatures(tx, account.accountId, on.features, null)),
    ).rejects.toThrow(/empty/);
    await account.post("/whitelist_ip", { ip_cidr: "203.0.113.7" });
    expect((await operator.put(path(account.accountId), on)).features.ip_whitelisting).toBe(true);
    await account.get("/account").refused(403, /whitelisted/);
    await operator.put(path(account.accountId), { features: { ip_whitelisting: false } });
    await account.get("/account");
  });

  test("in the operator's own account is refused while the list does not cover the operator's address", async () => {
    const operator = await given.account({ isOperator: true });
    await operator.post("/whitelist_ip", { ip_cidr: "203.0.113.7" });
    await operator.put(path(operator.accountId), on).refused(422, /your own address 127\.0\.0\.1/);
    await operator.post("/whitelist_ip", { ip_cidr: "127.0.0.0/8" });
    expect((await operator.put(path(operator.accountId), on)).features.ip_whitelisting).toBe(true);
    await operator.get("/account");
  });
});

describe("features that are enabled in new accounts", () => {
  const deployment = useServer({ settings: { HEADGATE_FEATURES: "ip_whitelisting,large_scripts" } });

  test("a whitelist that is enforced from the start contains the creator's address", async () => {
    const creator = await deployment.operator();
    const { authentication_token: token, account_id: id } = await creator.post("/account", {
      account: { name: "Guarded" },
    });
    expect((await creator.get(path(id))).features).toEqual({ ...OFF, ip_whitelisting: true, large_scripts: true });
    const { account_whitelisted_ips: ips } = await creator.get("/whitelist_ip", { headers: { "X-AUTH-TOKEN": token } });
    expect(ips).toMatchObject([{ ip_cidr: "127.0.0.1", account_id: id }]);
  });
});
