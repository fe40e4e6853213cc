import { describe, expect, test } from "vitest";
import { useSharedServer } from "../../test/support/given.ts";
import { withoutId } from "../../test/support/without-id.ts";

const given = useSharedServer();

describe("GET /api/v2/clusters", () => {
  test("a new account has one local cluster labelled default", async () => {
    const account = await given.account();
    const { paging_info, clusters } = await account.get("/api/v2/clusters");
    expect(paging_info).toEqual({ previous_page: null, next_page: null, per_page: 10 });
    expect(clusters).toEqual([
      {
        id: expect.any(Number),
        account_id: account.accountId,
        labels: ["default"],
        engine: { type: "local" },
        spark_config: {},
        table_formats: [],
        environment_id: null,
        pools: {},
        max_concurrent_commands: null,
        idle_cluster_timeout: null,
        idle_cluster_timeout_in_secs: null,
        state: "DOWN",
        created_at: expect.stringMatching(/Z$/),
        updated_at: expect.stringMatching(/Z$/),
      },
    ]);
  });

  test("an account created through the API has its own, too", async () => {
    const account = await given.account();
    const { authentication_token } = await account.post("/account", { account: { name: "Second" } });
    const { clusters } = await given
      .anonymous()
      .get("/api/v2/clusters", { headers: { "X-AUTH-TOKEN": authentication_token } });
    expect(clusters).toMatchObject([{ labels: ["default"] }]);
  });

  test("lists clusters in the order of their creation, in pages; past the end the list is empty", async () => {
    const account = await given.account();
    for (const label of ["b", "a"])
      await account.post("/api/v2/clusters", { labels: [label], engine: { type: "local" } });
    const labelsOf = async (query: string): Promise<string[]> =>
      (await account.get(`/api/v2/clusters?${query}`)).clusters.flatMap(({ labels }: { labels: string[] }) => labels);
    expect(await labelsOf("per_page=2")).toEqual(["default", "b"]);
    expect(await labelsOf("per_page=2&page=2")).toEqual(["a"]);
    expect(await labelsOf("page=2")).toEqual([]);
  });
});

describe("GET /api/v2/clusters/<id or label>", () => {
  test("finds a cluster by its id and by its label", async () => {
    const account = await given.account();
    const byLabel = await account.get("/api/v2/clusters/default");
    expect(await account.get(`/api/v2/clusters/${byLabel.id}`)).toEqual(byLabel);
  });

  test("another account's cluster cannot be told from one that does not exist", async () => {
    const [account, other] = [await given.account(), await given.account()];
    const { id } = await other.post("/api/v2/clusters", { labels: ["theirs"], engine: { type: "local" } });
    const foreign = await account.get(`/api/v2/clusters/${id}`).refused(404);
    for (const reference of ["987654321", "theirs"]) {
      const unknown = await account.get(`/api/v2/clusters/${reference}`).refused(404);
      expect(withoutId(unknown, reference)).toBe(withoutId(foreign, id));
    }
  });

  test("a member without a role is refused", async () => {
    const account = await given.account();
    await (await given.member(account)).get("/api/v2/clusters/default").refused(403);
  });
});
