import { describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { rawRequest } from "../../test/support/raw-request.ts";

const given = useServer();

describe("GET commands", () => {
  test("lists the caller's own commands, newest first, in pages, in both versions", async () => {
    const account = await given.account();
    const ids = await submitted(account, 5);
    const first = await account.get("/commands/?per_page=2");
    expect(first.paging_info).toEqual({ previous_page: null, next_page: 2, per_page: 2 });
    expect(idsOf(first)).toEqual([ids[4], ids[3]]);
    const last = await account.get("/api/v1/commands?page=3&per_page=2");
    expect(last.paging_info).toEqual({ previous_page: 2, next_page: null, per_page: 2 });
    expect(idsOf(last)).toEqual([ids[0]]);
    expect(idsOf(await account.get("/commands?page=4&per_page=2"))).toEqual([]);
  });

  test("reads a JSON body; the query string takes precedence", async () => {
    const account = await given.account();
    await submitted(account, 3);
    const { body } = await rawRequest(given.base, {
      method: "GET",
      path: "/api/v1.2/commands?page=1",
      headers: { "X-AUTH-TOKEN": account.token ?? "" },
      body: JSON.stringify({ per_page: "2", page: 2 }),
    });
    expect(body.paging_info).toEqual({ previous_page: null, next_page: 2, per_page: 2 });
  });

  test("the list continues after the cursor, even among commands of the same time", async () => {
    const account = await given.account();
    const ids = await submitted(account, 6);
    await sql("update command set created_at = '2026-01-02T03:04:05.123456Z' where id = any ($1)", [ids]);
    const window = "start_date=2026-01-01&end_date=2026-01-03&per_page=2";
    const seen: number[] = [];
    for (let after = ""; seen.length < 6; after = `&after=${seen.at(-1)}`) {
      seen.push(...idsOf(await account.get(`/commands?${window}${after}`)));
    }
    expect(seen).toEqual(ids.toReversed());
    expect(idsOf(await account.get(`/commands?${window}&after=${ids[0]}`))).toEqual([]);
    await account.get("/commands?after=987654321").refused(422, /^after names no command of the account: /);
  });

  test("a cursor after the end of the window starts at that end", async () => {
    const account = await given.account();
    const [first, second, atTheEnd, later] = await submitted(account, 4);
    await sql("update command set created_at = '2026-01-02T03:04:05Z' where id = any ($1)", [[first, second]]);
    await sql("update command set created_at = '2026-01-03T00:00:00Z' where id = $1", [atTheEnd]);
    const list = async (after: number | undefined) =>
      idsOf(await account.get(`/commands?start_date=2026-01-01&end_date=2026-01-02&after=${after}`));
    expect(await list(later)).toEqual([second, first]);
    expect(await list(atTheEnd)).toEqual([second, first]);
    expect(await list(second)).toEqual([first]);
  });

  test("shows commands of others only with all_users", async () => {
    const account = await given.account();
    const member = await given.member(account, { groups: ["system-user"] });
    const [own] = await submitted(account, 1);
    const [others] = await submitted(member, 1);
    expect(idsOf(await account.get("/commands"))).toEqual([own]);
    expect(idsOf(await account.get("/commands?all_users=0"))).toEqual([own]);
    expect(idsOf(await account.get("/commands?all_users=1"))).toEqual([others, own]);
    expect(idsOf(await (await given.account()).get("/commands?all_users=1"))).toEqual([]);
  });

  test("covers 30 days before its end, both ends included", async () => {
    const account = await given.account();
    const [old, edge, inside, last] = await submitted(account, 4);
    await sql("update command set created_at = '2026-01-31T23:59:59.999999Z' where id = $1", [old]);
    await sql("update command set created_at = '2026-02-01T00:00:00Z' where id = $1", [edge]);
    await sql("update command set created_at = '2026-02-10T12:00:00.5Z' where id = $1", [inside]);
    await sql("update command set created_at = '2026-03-03T23:59:59.999999Z' where id = $1", [last]);
    const list = async (query: string) => idsOf(await account.get(`/commands?${query}`));
    expect(await list("end_date=2026-03-03")).toEqual([last, inside, edge]);
    expect(await list("end_date=2026-03-02")).toEqual([inside, edge, old]);
    expect(await list("start_date=2026-01-31&end_date=2026-03-03")).toEqual([last, inside, edge, old]);
    expect(await list("start_date=2026-02-10T12:00:00Z&end_date=2026-02-10T12:00:00Z")).toEqual([inside]);
    expect(await list("end_date=2026-02-10T11:59:59Z")).toEqual([edge, old]);
    expect(await list("")).toEqual([]);
  });

  test.each([
    ["start_date=2026-02-02&end_date=2026-02-01", /^start_date must not be after end_date/],
    ["start_date=yesterday", /^start_date must be a date/],
    ["end_date=2026-02-30", /^end_date must be a date/],
    ["end_date=2026-02-01T00:00:00", /^end_date must be a date/],
    ["per_page=101", /^per_page must be at most 100/],
    ["page=0", /^page must be at least 1/],
    ["all_users=2", /^all_users must be at most 1/],
    ["status=lost", /^status must be one of/],
    ["user_id=me", /^user_id must be/],
    ["command_id=1,x", /^command_id must be/],
    ["label=a&cluster_label=b", /^cluster_label/],
  ])("refuses %s", async (query, message) => {
    await (await given.account()).get(`/commands?${query}`).refused(422, message);
  });

  test("filters by fields of commands; a comma-separated list matches any of its entries", async () => {
    const account = await given.account();
    const spark = { command_type: "SparkCommand", cmdline: "x" };
    const a = (await account.post("/commands", { ...spark, name: "a", tags: ["red", "blue"] })).id;
    const b = (await account.post("/commands", { ...spark, name: "b", tags: ["blue"] })).id;
    const c = (await account.post("/commands", { command_type: "HiveCommand", query: "x", tags: ["green"] })).id;
    await sql("update command set status = 'done', end_time = now() where id = $1", [a]);
    await sql("update command set status = 'error', end_time = now() where id = any ($1)", [[b, c]]);
    const list = async (query: string) => idsOf(await account.get(`/commands?${query}`));
    expect(await list("tags=red")).toEqual([a]);
    expect(await list("tags=blue")).toEqual([b, a]);
    expect(await list("tags=red,blue,green")).toEqual([c, b, a]);
    expect(await list(`tags=blue&after=${b}`)).toEqual([a]);
    expect(await list("tags=blue&per_page=1&page=2")).toEqual([a]);
    expect(await list("tags=blue&status=done")).toEqual([a]);
    expect(await list("tags=none")).toEqual([]);
    expect(await list("name=a,c")).toEqual([a]);
    expect(await list("command_type=HiveCommand")).toEqual([c]);
    expect(await list("status=success")).toEqual([a]);
    expect(await list("status=failed,done")).toEqual([c, b, a]);
    expect(await list("label=default&command_source=API")).toEqual([c, b, a]);
    expect(await list("cluster_label=other")).toEqual([]);
    expect(await list(`command_id=${a},${c}`)).toEqual([c, a]);
    const { user_id: userId } = await account.get(`/commands/${a}`);
    expect(await list(`user_id=${userId}`)).toEqual([c, b, a]);
    expect(await list("user_id=1234567")).toEqual([]);
  });

  test("adds tags, macros and comments with include_query_properties", async () => {
    const account = await given.account();
    await account.post("/commands", { command_type: "SparkCommand", cmdline: "x", tags: ["b", "a"] });
    const { commands } = await account.get("/commands?include_query_properties=True");
    expect(commands).toMatchObject([{ tags: ["a", "b"], macros: [], comments: [] }]);
    expect((await account.get("/commands")).commands[0]).not.toHaveProperty("tags");
  });

  test("pages of the history are found by an index alone", async () => {
    const account = await given.account();
    await submitted(account, 3);
    const plan = await given.app.services.db.asAccount(account.accountId, async (tx) => {
      await tx.query("set local enable_seqscan = off");
      await tx.query("set local enable_bitmapscan = off");
      await tx.query("set local enable_sort = off");
      return tx.query<{ "QUERY PLAN": string }>(
        `explain select created_at, id from command where created_at >= now() - interval '1 day' and created_at < now()
          order by created_at desc, id desc limit 11 offset 100`,
      );
    });
    expect(plan.map((line) => line["QUERY PLAN"]).join("\n")).toContain("Index Only Scan using command_history");
  });
});

async function submitted(client: AccountClient, count: number): Promise<number[]> {
  const ids: number[] = [];
  for (let at = 0; at < count; at += 1) {
    const { id } = await client.post("/commands", { command_type: "HiveCommand", query: "show tables" });
    ids.push(id);
  }
  return ids;
}

function idsOf({ commands }: { commands: { id: number }[] }): number[] {
  return commands.map(({ id }) => id);
}

async function sql(text: string, values: unknown[]): Promise<void> {
  await given.app.services.db.system.query(text, values);
}
