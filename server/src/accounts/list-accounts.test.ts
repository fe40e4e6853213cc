import { describe, expect, test } from "vitest";
import { useServer } from "../../test/support/given.ts";

const given = useServer();
const PATH = "/api/v2/accounts/all";

describe("GET accounts/all", () => {
  test("shows operators every account, in pages", async () => {
    const operator = await given.operator();
    const second = await given.account({ name: "Second", features: ["large_scripts"] });
    await given.account({ name: "Third" });
    const first = await operator.get(`${PATH}?per_page=2`);
    expect(first.paging_info).toEqual({ previous_page: null, next_page: 2, per_page: 2 });
    expect(first.accounts).toHaveLength(2);
    expect(first.accounts[1]).toEqual({
      id: second.accountId,
      name: "Second",
      plan: "free",
      parent_id: null,
      users: 1,
      features: expect.objectContaining({ large_scripts: true, ip_whitelisting: false }),
      created_at: expect.stringMatching(/Z$/),
    });
    const last = await operator.get(`${PATH}?per_page=2&page=2`);
    expect(last.paging_info).toEqual({ previous_page: 1, next_page: null, per_page: 2 });
    expect(last.accounts.map(({ name }: { name: string }) => name)).toEqual(["Third"]);
    expect((await operator.get(`${PATH}?page=1000000000&per_page=100`)).accounts).toEqual([]);
    expect((await operator.get(PATH)).paging_info.per_page).toBe(10);
  });

  test.each(["per_page=101", "per_page=0", "page=0", "page=x", "page=1000000001", "page=99999999999999999999"])(
    "refuses %s",
    async (query) => {
      await (await given.operator()).get(`${PATH}?${query}`).refused(422, /page/);
    },
  );

  test("is 404 for everyone else", async () => {
    await (await given.account()).get(PATH).refused(404);
  });
});
