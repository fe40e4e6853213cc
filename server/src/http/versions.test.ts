import { describe, expect, test } from "vitest";
import { useServer } from "../../test/support/given.ts";

const given = useServer();

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

  test.each(["/api/v1/whitelist_ip", "/api/v1.2/accounts/whitelist_ip", "/api/v1.1/whitelist_ip", "/api/whitelist_ip"])(
    "%s is none of them",
    async (path) => {
      const account = await given.account();
      await account.get(path).refused(404);
    },
  );
});

describe("what a newer version replaces", () => {
  test("says since when, and where to go", async () => {
    const account = await given.account();
    const { headers } = await account.get("/api/v1.2/whitelist_ip").reply();
    expect(headers.get("deprecation")).toBe("@1767225600");
    expect(headers.get("link")).toBe('</api/v2/accounts/whitelist_ip>; rel="successor-version"');
  });

  test("says so in refusals, too", async () => {
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
