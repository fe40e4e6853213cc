import { describe, expect, test } from "vitest";
import { useSharedServer } from "../../test/support/given.ts";
import { endpoints } from "../routes.ts";
import { routeTable } from "./route-table.ts";

const given = useSharedServer();

describe("the versions of a path", () => {
  test.each([
    "/api/v1.2/whitelist_ip",
    "/api/v2/whitelist_ip",
    "/api/v2/accounts/whitelist_ip",
    "/api/latest/whitelist_ip",
    "/api/latest/accounts/whitelist_ip",
  ])("%s is one list", async (path) => {
    const account = await given.account();
    await account.post(path, { ip_cidr: "10.0.0.1" });
    expect((await account.get(path)).account_whitelisted_ips).toHaveLength(1);
    const [{ id }] = (await account.get("/whitelist_ip")).account_whitelisted_ips;
    await account.delete(`${path}/${id}`);
    expect((await account.get(path)).account_whitelisted_ips).toEqual([]);
  });

  test.each([
    "/api/v1.2/account",
    "/api/v2/account",
    "/api/v2/accounts",
    "/api/latest/account",
    "/api/latest/accounts",
    "/api/v2/accounts/get_users",
    "/api/latest/accounts/get_users",
    "/api/v2/groups",
    "/api/latest/groups",
    "/api/latest/audit_events",
  ])("%s answers", async (path) => {
    const account = await given.account();
    await account.get(path);
  });

  test.each([
    ["/api/v1.2/account", false],
    ["/api/v2/account", true],
    ["/api/v2/accounts", true],
    ["/api/latest/account", true],
    ["/api/latest/accounts", true],
  ])("%s is the newer view of the account: %s", async (path, isNewer) => {
    const account = await given.account();
    expect("CacheQuotaSizeInGB" in (await account.get(path))).toBe(isNewer);
  });

  test.each(["/api/v1/whitelist_ip", "/api/v1.2/accounts/whitelist_ip", "/api/v1.1/whitelist_ip", "/api/whitelist_ip"])(
    "%s is an unknown path",
    async (path) => {
      const account = await given.account();
      await account.get(path).refused(404);
    },
  );
});

describe("v1.3", () => {
  test("is another name of v2, for every path", async () => {
    const account = await given.account();
    const gets = routeTable(endpoints).filter(({ method, url }) => method === "GET" && url.startsWith("/api/v2/"));
    const paths = gets.map(({ url }) => url.replaceAll(/:\w+/g, "default"));
    expect(paths.length).toBeGreaterThan(40);
    for (const path of paths) {
      const [named, other] = [
        await account.get(path).reply(),
        await account.get(path.replace("/v2/", "/v1.3/")).reply(),
      ];
      expect([path, other.status, other.headers.get("link")]).toEqual([path, named.status, named.headers.get("link")]);
    }
  });

  test.each(["", "/", ".json", "?", "?page=1"])("has the list of v2, also with %j at the end", async (suffix) => {
    const account = await given.account();
    const list = await account.get("/api/v2/clusters");
    expect(await account.get(`/api/v1.3/clusters${suffix}`)).toEqual(list);
  });

  test("shares idempotency keys with v2", async () => {
    const account = await given.account();
    const headers = { "Idempotency-Key": "one" };
    const app = await account.post("/api/v1.3/apps", { name: "once" }, { headers });
    expect(await account.post("/api/v2/apps", { name: "once" }, { headers })).toEqual(app);
  });

  test("refuses other methods and unknown paths as v2 does", async () => {
    const account = await given.account();
    await account.call("PATCH", "/api/v1.3/clusters").refused(405);
    await account.get("/api/v1.3/no_such_path").refused(404);
    await account.get("/api/v1.30/clusters").refused(404);
  });
});

describe("an endpoint that a newer version replaces", () => {
  test.each([
    ["GET", "/api/v1.2/account", true],
    ["POST", "/api/v1.2/account", true],
    ["GET", "/api/v2/account", false],
    ["POST", "/api/v2/accounts", false],
    ["GET", "/api/v1.2/accounts/get_users", false],
  ])("%s %s is deprecated: %s", async (method, path, isDeprecated) => {
    const account = await given.account();
    const { headers } = await account.call(method, path).reply();
    expect(headers.get("link")).toBe(isDeprecated ? '</api/v2/accounts>; rel="successor-version"' : null);
  });

  test("says since when it is deprecated, and links to its successor", async () => {
    const account = await given.account();
    const { headers } = await account.get("/api/v1.2/whitelist_ip").reply();
    expect(headers.get("deprecation")).toBe("@1767225600");
    expect(headers.get("link")).toBe('</api/v2/accounts/whitelist_ip>; rel="successor-version"');
  });

  test("is marked as deprecated in refusals, too", async () => {
    const { headers } = await given.anonymous().delete("/api/v1.2/whitelist_ip/1").reply();
    expect(headers.get("deprecation")).toBe("@1767225600");
    expect(headers.get("link")).toBe('</api/v2/accounts/whitelist_ip/{ids}>; rel="successor-version"');
  });

  test.each(["/api/v2/accounts/whitelist_ip", "/api/v2/whitelist_ip", "/api/latest/accounts/whitelist_ip"])(
    "%s is not deprecated",
    async (path) => {
      const account = await given.account();
      const { headers } = await account.get(path).reply();
      expect(headers.get("deprecation")).toBeNull();
      expect(headers.get("link")).toBeNull();
    },
  );
});
