import { describe, expect, test, vi } from "vitest";
import { useSharedServer, type AccountClient } from "../../../test/support/given.ts";

const given = useSharedServer();
const AUDIT = "/api/v2/audit_events";

async function accountWithEvents(count: number): Promise<AccountClient> {
  const account = await given.account();
  for (let number = 1; number <= count; number += 1) {
    await account.post("/whitelist_ip", { ip_cidr: `10.0.0.${number}` });
  }
  return account;
}

function objectsOf({ audit_events: events }: { audit_events: { object: string }[] }): string[] {
  return events.map(({ object }) => object.replace(/^whitelisted_ip\/10\.0\.0\.(\d+)\/32$/, "$1"));
}

describe("GET audit_events", () => {
  test("shows the user, operation, object, address and request of each event", async () => {
    const account = await given.account();
    const { headers } = await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }).reply();
    const [user] = (await account.get("/accounts/get_users")).users;
    expect(await account.get(AUDIT)).toEqual({
      paging_info: { previous_page: null, next_page: null, per_page: 10 },
      audit_events: [
        {
          id: expect.any(Number),
          at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/),
          user_id: user.user_id,
          email: account.email,
          address: "127.0.0.1",
          operation: "whitelist_ip_add",
          object: "whitelisted_ip/10.0.0.1/32",
          outcome: "done",
          request_id: headers.get("x-request-id"),
          count: 1,
          detail: null,
        },
      ],
    });
  });

  test("is sorted newest first and paged", async () => {
    const account = await accountWithEvents(5);
    expect(objectsOf(await account.get(AUDIT))).toEqual(["5", "4", "3", "2", "1"]);
    const second = await account.get(`${AUDIT}?page=2&per_page=2`);
    expect(second.paging_info).toEqual({ previous_page: 1, next_page: 3, per_page: 2 });
    expect(objectsOf(second)).toEqual(["3", "2"]);
    expect(await account.get(`${AUDIT}?page=1000000000&per_page=100`)).toMatchObject({ audit_events: [] });
  });

  test("continues after a given event, however many were added since", async () => {
    const account = await accountWithEvents(5);
    const { audit_events: events } = await account.get(`${AUDIT}?per_page=2`);
    await account.post("/whitelist_ip", { ip_cidr: "10.0.0.9" });
    const rest = await account.get(`${AUDIT}?per_page=2&after=${events[1].id}`);
    expect(objectsOf(rest)).toEqual(["3", "2"]);
    expect(rest.paging_info).toEqual({ previous_page: null, next_page: 2, per_page: 2 });
    expect(objectsOf(await account.get(`${AUDIT}?per_page=2&page=2&after=${events[1].id}`))).toEqual(["1"]);
    expect(objectsOf(await account.get(`${AUDIT}?after=1`))).toEqual([]);
  });

  test("does not show another account's events, not even with their cursor", async () => {
    const account = await accountWithEvents(1);
    const stranger = await given.account();
    const [{ id }] = (await account.get(AUDIT)).audit_events;
    expect((await stranger.get(AUDIT)).audit_events).toEqual([]);
    expect((await stranger.get(`${AUDIT}?after=${id + 1}`)).audit_events).toEqual([]);
  });

  test.each(["per_page=101", "page=0", "after=0", "after=x", "after=99999999999999999999"])(
    "refuses %s",
    async (query) => {
      const account = await given.account();
      await account.get(`${AUDIT}?${query}`).refused(422, /^(page|per_page|after) /);
    },
  );

  test("a user without a group or role cannot read it", async () => {
    const account = await given.account();
    await (await given.member(account)).get(AUDIT).refused(403, /account:read/);
  });

  test("denials of one token, operation and minute are one event with a count", async () => {
    const account = await given.account();
    const member = await given.member(account);
    const first = await member.post("/whitelist_ip", { ip_cidr: "10.0.0.1" }).refused(403);
    for (let count = 1; count < 5; count += 1) await member.post("/whitelist_ip", {}).refused(403);
    await member.put("/accounts/token", { emails: account.email }).refused(403);

    const denied = async () => {
      const { audit_events: events } = await account.get(AUDIT);
      return events.map(({ operation, count }: { operation: string; count: number }) => [operation, count]);
    };
    // A new minute may start between two calls; then the counts of its rows add up.
    await expect
      .poll(async () => {
        const totals: Record<string, number> = {};
        for (const [operation, count] of await denied()) totals[operation] = (totals[operation] ?? 0) + count;
        return totals;
      })
      .toEqual({ whitelist_ip_add: 5, token_reset: 1 });
    const { audit_events: events } = await account.get(AUDIT);
    expect(events.length).toBeLessThanOrEqual(3);
    expect(events.at(-1)).toMatchObject({
      operation: "whitelist_ip_add",
      outcome: "denied",
      email: member.email,
      address: "127.0.0.1",
      object: null,
      request_id: first.headers.get("x-request-id"),
    });
  });
});

describe("the filters of audit_events", () => {
  test("select by operation, object, user and outcome, also together and with a cursor", async () => {
    const account = await accountWithEvents(3);
    const member = await given.member(account, { groups: ["system-user"] });
    await member.post("/whitelist_ip", { ip_cidr: "10.0.0.4" });
    await member.get("/groups").refused(403);
    const ids = async (query: string): Promise<string[]> => objectsOf(await account.get(`${AUDIT}?${query}`));
    const [{ user_id: userId }] = (await account.get(`${AUDIT}?object=whitelisted_ip/10.0.0.4/32`)).audit_events;
    expect(await ids("operation=whitelist_ip_add")).toEqual(["4", "3", "2", "1"]);
    expect(await ids("operation=whitelist_ip_delete")).toEqual([]);
    expect(await ids("object=whitelisted_ip/10.0.0.2/32")).toEqual(["2"]);
    expect(await ids(`user_id=${userId}&outcome=done`)).toEqual(["4"]);
    expect(await ids("outcome=done&operation=whitelist_ip_add&per_page=2&page=2")).toEqual(["2", "1"]);
    const [, third] = (await account.get(`${AUDIT}?outcome=done`)).audit_events;
    expect(await ids(`operation=whitelist_ip_add&after=${third.id}`)).toEqual(["2", "1"]);
    await vi.waitFor(async () => {
      const { audit_events: denied } = await account.get(`${AUDIT}?outcome=denied&user_id=${userId}`);
      expect(denied).toMatchObject([{ operation: "group_list" }]);
    });
  });

  test("select by inclusive dates, also together with other filters", async () => {
    const account = await accountWithEvents(4);
    await given.app.services.db.asSystem((tx) =>
      tx.query(
        `update audit_event e set at = '2026-03-01T12:00:00Z'::timestamptz + (n - 1) * interval '1 day'
           from (select id, row_number() over (order by id) as n from audit_event where account_id = $1) numbered
          where e.id = numbered.id`,
        [account.accountId],
      ),
    );
    const ids = async (query: string): Promise<string[]> => objectsOf(await account.get(`${AUDIT}?${query}`));
    expect(await ids("start_date=2026-03-02&end_date=2026-03-03")).toEqual(["3", "2"]);
    expect(await ids("start_date=2026-03-03")).toEqual(["4", "3"]);
    expect(await ids("end_date=2026-03-01T12:00:00Z")).toEqual(["1"]);
    expect(await ids("end_date=2026-03-01T11:59:59Z")).toEqual([]);
    expect(await ids("start_date=2026-03-02&operation=whitelist_ip_add&outcome=done&per_page=2")).toEqual(["4", "3"]);
    expect(await ids("start_date=2027-01-01")).toEqual([]);
  });

  test("select by dates even if ids and times are in different orders, as after long transactions", async () => {
    const account = await accountWithEvents(4);
    const times = ["11:00:00", "12:00:20", "12:00:01", "13:00:00"].map((time) => `2026-03-01T${time}Z`);
    await given.app.services.db.asSystem((tx) =>
      tx.query(
        `update audit_event e set at = ($2::timestamptz[])[n]
           from (select id, row_number() over (order by id) as n from audit_event where account_id = $1) numbered
          where e.id = numbered.id`,
        [account.accountId, times],
      ),
    );
    const ids = async (query: string): Promise<string[]> => objectsOf(await account.get(`${AUDIT}?${query}`));
    expect(await ids("start_date=2026-03-01T12:00:00Z")).toEqual(["4", "3", "2"]);
    expect(await ids("end_date=2026-03-01T12:00:30Z")).toEqual(["3", "2", "1"]);
    expect(await ids("start_date=2026-03-01T12:00:00Z&end_date=2026-03-01T12:00:30Z&outcome=done")).toEqual(["3", "2"]);
    expect(await ids("start_date=0000-01-01&end_date=9999-12-31")).toEqual(["4", "3", "2", "1"]);
  });

  test.each([
    ["start_date=2026-03-02&end_date=2026-03-01", /^start_date must not be after end_date/],
    ["start_date=yesterday", /^start_date must be a date/],
    ["outcome=maybe", /^outcome must be one of done, denied/],
    ["user_id=x", /^user_id must be an integer/],
  ])("refuse %s", async (query, message) => {
    const account = await given.account();
    await account.get(`${AUDIT}?${query}`).refused(422, message);
  });
});
