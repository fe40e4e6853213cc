import { beforeEach, describe, expect, test } from "vitest";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { withoutId } from "../../test/support/without-id.ts";
import type { AppControl } from "./app-control.ts";

/** The servers that run in this test. */
const running = new Set<string>();
const appControl: AppControl = {
  listUp: (accountId, ids) => Promise.resolve(new Set(ids.filter((id) => running.has(`${accountId}/${id}`)))),
  stop: (id) =>
    Promise.resolve([...running].filter((key) => key.endsWith(`/${id}`)).forEach((key) => running.delete(key))),
};
const given = useServer({ appControl });
const config = { "spark.sql.shuffle.partitions": "8" };

let account: AccountClient;
beforeEach(async () => {
  account = await given.account();
});

async function stored(): Promise<number> {
  return (await given.app.services.db.system.query("select from app where account_id = $1", [account.accountId]))
    .length;
}

describe("POST and GET /api/v2/apps", () => {
  test("returns the app, which is DOWN, and lists it in pages", async () => {
    const app = await account.post("/api/v2/apps", { name: "reports", config: { "spark.sql.shuffle.partitions": 8 } });
    expect(app).toEqual({
      id: expect.any(Number),
      name: "reports",
      config,
      kind: "spark",
      status: "DOWN",
      created_at: expect.stringMatching(/Z$/),
    });
    const second = await account.post("/api/v2/apps", { name: "reports", kind: "spark", config: null });
    expect(second).toMatchObject({ config: {} });
    expect(await account.get("/api/v2/apps?per_page=1")).toEqual({
      paging_info: { previous_page: null, next_page: 2, per_page: 1 },
      apps: [app],
    });
    expect((await account.get("/api/v2/apps?per_page=1&page=2")).apps).toEqual([second]);
    expect(await account.get(`/api/v2/apps/${app.id}`)).toEqual(app);
  });

  test("shows which apps have running servers", async () => {
    const [up, down] = [
      await account.post("/api/v2/apps", { name: "up" }),
      await account.post("/api/v2/apps", { name: "down" }),
    ];
    running.add(`${account.accountId}/${up.id}`);
    expect((await account.get("/api/v2/apps")).apps).toEqual([{ ...up, status: "UP" }, down]);
    expect(await account.get(`/api/v2/apps/${up.id}`)).toMatchObject({ status: "UP" });
  });

  test("requests with the same idempotency key create one app", async () => {
    const headers = { "Idempotency-Key": "one-app" };
    const first = await account.post("/api/v2/apps", { name: "once" }, { headers });
    expect(await account.post("/api/v2/apps", { name: "once" }, { headers })).toEqual(first);
    expect(await stored()).toBe(1);
  });

  test.each([
    [{}, /^name is required/],
    [{ name: "" }, /^name must not be empty/],
    [{ name: "  " }, /^name must have at least one visible character/],
    [{ name: "a\u0007" }, /^name must not contain control/],
    [{ name: "x".repeat(256) }, /^name must have at most 255/],
    [{ name: "a", kind: "flink" }, /^kind must be one of spark/],
    [{ name: "a", config: "spark.a=1" }, /^config must be an object/],
    [{ name: "a", config: { "spark.a": {} } }, /^config\.spark\.a must be a string/],
    [{ name: "a", config: { "spark.authenticate": "false" } }, /^config may not set spark\.authenticate/],
    [{ name: "a", config: { "spark.master": "local" } }, /^config may not set spark\.master/],
  ])("refuses %j and stores nothing", async (body, message) => {
    await account.post("/api/v2/apps", body).refused(422, message);
    expect(await stored()).toBe(0);
  });

  test("an account can have at most 1000 apps", async () => {
    await given.app.services.db.system.query(
      "insert into app (account_id, name) select $1, 'x' from generate_series(1, 999)",
      [account.accountId],
    );
    await account.post("/api/v2/apps", { name: "last" });
    await account.post("/api/v2/apps", { name: "more" }).refused(422, /at most 1000 apps/);
    expect(await stored()).toBe(1000);
  });
});

describe("PUT /api/v2/apps/<id>/stop", () => {
  test("ends its server and returns the app; repeating changes nothing", async () => {
    const app = await account.post("/api/v2/apps", { name: "reports" });
    running.add(`${account.accountId}/${app.id}`);
    expect(await account.put(`/api/v2/apps/${app.id}/stop`)).toEqual(app);
    expect(await account.put(`/api/v2/apps/${app.id}/stop`)).toEqual(app);
  });
});

describe("DELETE /api/v2/apps/<id>", () => {
  test("deletes the app and ends its server", async () => {
    const app = await account.post("/api/v2/apps", { name: "reports" });
    running.add(`${account.accountId}/${app.id}`);
    expect(await account.delete(`/api/v2/apps/${app.id}`)).toEqual({ status: "deleted" });
    expect(running).not.toContain(`${account.accountId}/${app.id}`);
    await account.get(`/api/v2/apps/${app.id}`).refused(404);
    await account.delete(`/api/v2/apps/${app.id}`).refused(404);
  });
});

describe("another account's app", () => {
  test("gets the same replies as an unknown one", async () => {
    const other = await given.account();
    const { id } = await other.post("/api/v2/apps", { name: "theirs" });
    const unknown = await account.get("/api/v2/apps/987654321").refused(404);
    for (const call of [
      account.get(`/api/v2/apps/${id}`),
      account.put(`/api/v2/apps/${id}/stop`),
      account.delete(`/api/v2/apps/${id}`),
    ]) {
      expect(withoutId(await call.refused(404), id)).toBe(withoutId(unknown, "987654321"));
    }
    expect((await account.get("/api/v2/apps")).apps).toEqual([]);
    expect(await other.get(`/api/v2/apps/${id}`)).toMatchObject({ name: "theirs" });
  });
});
