import { describe, expect, test } from "vitest";
import { useSharedServer } from "../../../test/support/given.ts";
import { withoutId } from "../../../test/support/without-id.ts";

const given = useSharedServer();

describe("POST whitelist_ip", () => {
  test("adds an address and lists it in the client's spelling", async () => {
    const account = await given.account();
    expect(await account.post("/whitelist_ip", { ip_cidr: "203.0.113.7" })).toEqual({
      status: { status_code: 200, message: "IP whitelisted successfully." },
    });
    const { account_whitelisted_ips: ips } = await account.get("/whitelist_ip");
    expect(ips).toEqual([
      {
        id: expect.any(Number),
        account_id: account.accountId,
        ip_cidr: "203.0.113.7",
        created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
        updated_at: expect.stringMatching(/Z$/),
      },
    ]);
  });

  test("a duplicate in any spelling is success without a second row", async () => {
    const account = await given.account();
    for (const ip of ["10.1.2.3", "10.1.2.3/32", "::ffff:10.1.2.3"])
      await account.post("/whitelist_ip", { ip_cidr: ip });
    const { account_whitelisted_ips: ips } = await account.get("/whitelist_ip");
    expect(ips).toHaveLength(1);
  });

  test.each([
    "300.1.1.1",
    "10.1.2.3/8",
    "fe80::1%eth0",
    "",
    "1.2.3.4\u0000",
    "1.2.3",
    "010.1.1.1",
    "1.2.3.4/33",
    "::/129",
    "x",
  ])("refuses %j and stores nothing", async (ip) => {
    const account = await given.account();
    await account.post("/whitelist_ip", { ip_cidr: ip }).refused(422, /ip_cidr/);
    expect((await account.get("/whitelist_ip")).account_whitelisted_ips).toEqual([]);
  });

  test("refuses a request without ip_cidr and names the field", async () => {
    const account = await given.account();
    await account.post("/whitelist_ip", {}).refused(422, /^ip_cidr is required/);
    await account.post("/whitelist_ip", { ip_cidr: null }).refused(422, /^ip_cidr is required/);
    await account.post("/whitelist_ip", [1]).refused(422, /object/);
  });
});

describe("DELETE whitelist_ip/<ids>", () => {
  test("removes several, all or nothing", async () => {
    const account = await given.account();
    for (const ip of ["10.0.0.1", "10.0.0.2", "2001:db8::/32"]) await account.post("/whitelist_ip", { ip_cidr: ip });
    const ids = (await account.get("/whitelist_ip")).account_whitelisted_ips.map(({ id }: { id: number }) => id);
    await account.delete(`/whitelist_ip/${ids[0]},999999999`).refused(404);
    expect((await account.get("/whitelist_ip")).account_whitelisted_ips).toHaveLength(3);
    expect(await account.delete(`/whitelist_ip/${ids[0]},${ids[1]}`)).toEqual({
      status: { status_code: 200, message: "IP removed successfully." },
    });
    expect((await account.get("/whitelist_ip")).account_whitelisted_ips).toHaveLength(1);
  });

  test.each(["0", "-1", "abc", "1.5", "99999999999999999999", "1,,2", "1%2Cx"])(
    "the invalid id %j is 404",
    async (id) => {
      const account = await given.account();
      await account.delete(`/whitelist_ip/${id}`).refused(404);
    },
  );

  test("another account's id gets the same reply as an unknown one", async () => {
    const [owner, stranger] = [await given.account(), await given.account()];
    await owner.post("/whitelist_ip", { ip_cidr: "10.0.0.1" });
    const [{ id }] = (await owner.get("/whitelist_ip")).account_whitelisted_ips;
    const foreign = await stranger.delete(`/whitelist_ip/${id}`).refused(404);
    const unknown = await stranger.delete("/whitelist_ip/987654321").refused(404);
    expect(withoutId(foreign, id)).toBe(withoutId(unknown, "987654321"));
    expect((await owner.get("/whitelist_ip")).account_whitelisted_ips).toHaveLength(1);
  });
});

describe("enforcement", () => {
  test("a caller whose address is not listed is refused, and a change that would lock out the caller is 422", async () => {
    const account = await given.account({ features: ["ip_whitelisting"] });
    await account.get("/whitelist_ip").refused(403, /whitelisted/);
    await given.app.services.db.asSystem((tx) =>
      tx.query(
        "insert into whitelisted_ip (account_id, ip_cidr, given_text) values ($1, '127.0.0.0/8', '127.0.0.0/8')",
        [account.accountId],
      ),
    );
    const [{ id }] = (await account.get("/whitelist_ip")).account_whitelisted_ips;
    await account.delete(`/whitelist_ip/${id}`).refused(422, /locked out/);
    await account.post("/whitelist_ip", { ip_cidr: "127.0.0.1" });
    await account.delete(`/whitelist_ip/${id}`);
  });

  test("concurrent deletes cannot lock out all callers", async () => {
    for (let round = 0; round < 5; round += 1) {
      const account = await given.account();
      for (const ip of ["127.0.0.1", "127.0.0.0/8"]) await account.post("/whitelist_ip", { ip_cidr: ip });
      const ips = (await account.get("/whitelist_ip")).account_whitelisted_ips;
      await given.app.services.db.asSystem((tx) =>
        tx.query("update account set features = '{ip_whitelisting}' where id = $1", [account.accountId]),
      );
      await Promise.all(ips.map(({ id }: { id: number }) => account.delete(`/whitelist_ip/${id}`).reply()));
      await account.get("/whitelist_ip");
    }
  });
});
