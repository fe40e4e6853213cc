import { beforeEach, describe, expect, test } from "vitest";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { expectSameRefusals } from "../../test/support/same-refusals.ts";

const given = useSharedServer();
const OLD = "/api/v1.2/apps";
const NEW = "/api/v2/apps";
const config = { "spark.executor.memory": "1g" };

let account: AccountClient;
beforeEach(async () => {
  account = await given.account();
});

interface OldApp {
  id: number;
  config: string;
}

describe("GET /api/v1.2/apps", () => {
  test("is an array of apps with their configuration as text", async () => {
    const app = await account.post(NEW, { name: "reports", config });
    expect(await account.get(OLD)).toEqual([{ ...app, config: JSON.stringify(config) }]);
  });

  test("has all apps unless the query asks for a page", async () => {
    await given.app.services.db.system.query(
      "insert into app (account_id, name) select $1, 'x' from generate_series(1, 230)",
      [account.accountId],
    );
    const all: OldApp[] = await account.get(OLD);
    expect(all).toHaveLength(230);
    const ids = all.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)].toSorted((one, other) => one - other));
    expect(await account.get(`${OLD}?page=3&per_page=100`)).toEqual(all.slice(200));
    expect(await account.get(`${OLD}?page=1`)).toEqual(all.slice(0, 10));
    expect(await (await given.account()).get(OLD)).toEqual([]);
  });
});

describe("a single app in v1.2", () => {
  test.each([
    ["an object", config],
    ["text", JSON.stringify(config)],
    ["an array of objects", [config]],
    ["text of an array", JSON.stringify([config, {}])],
    ["an array that repeats a property", [config, config]],
    ["an array with null for an absent property", [{ "spark.executor.memory": null }, config]],
  ])("is in an envelope, with its configuration as text; it may be sent as %s", async (_name, sent) => {
    const { app } = await account.post(OLD, { name: "japp", kind: "spark", config: sent });
    expect(app).toMatchObject({ name: "japp", config: JSON.stringify(config), status: "DOWN" });
    expect(await account.get(`${OLD}/${app.id}`)).toEqual({ app });
    expect(await account.get(`${OLD}/${app.id}.json`)).toEqual({ app });
    expect(await account.put(`${OLD}/${app.id}/stop`)).toEqual({ app });
    expect(await account.get(`${NEW}/${app.id}`)).toEqual({ ...app, config });
  });

  test.each([undefined, null, "", "{}", [], {}])("without properties has an empty configuration: %j", async (sent) => {
    expect((await account.post(OLD, { name: "a", config: sent })).app.config).toBe("{}");
  });

  test.each([
    ["spark.a=1", /^config must be an object, an array of objects, or JSON/],
    [5, /^config must be an object/],
    ["5", /^config must be an object/],
    [["spark.a"], /^config must be an object, an array of objects/],
    [[{ "spark.a": "1" }, { "spark.a": "2" }], /^config must not have two values for "spark\.a"/],
    ['{"spark.master":"local"}', /^config may not set spark\.master/],
    [{ "spark.a": {} }, /^config\.spark\.a must be a string/],
  ])("refuses the configuration %j and stores nothing", async (sent, message) => {
    await account.post(OLD, { name: "a", config: sent }).refused(422, message);
    expect(await account.get(OLD)).toEqual([]);
  });

  test("what an app does not have is named in warnings", async () => {
    const { warnings } = await account.post(OLD, { name: "a", note_id: 5, settings: { cores: 2 } });
    expect(warnings).toEqual([
      "note_id was ignored: apps have no such field.",
      "settings.cores was ignored: apps have no such field.",
    ]);
  });

  test("a repeated request with the same idempotency key gets the same reply", async () => {
    const headers = { "Idempotency-Key": "one-app" };
    const body = { name: "once", config: "[]", extra: 1 };
    const first = await account.post(OLD, body, { headers });
    expect(await account.post(OLD, body, { headers })).toEqual(first);
    expect(await account.get(OLD)).toHaveLength(1);
  });
});

describe("v2", () => {
  test("still refuses a configuration as text", async () => {
    await account.post(NEW, { name: "a", config: "{}" }).refused(422, /^config must be an object/);
  });

  test.each([
    ["GET", ""],
    ["POST", "", {}],
    ["GET", "/987654321"],
    ["PUT", "/987654321/stop"],
    ["DELETE", "/987654321"],
  ])("and v1.2 admit the same callers and refuse the same requests: %s %s", async (method, path, body?: object) => {
    const callers = [account, await given.member(account), given.anonymous()];
    await expectSameRefusals(callers, method, [`${OLD}${path}`, `${NEW}${path}`], body);
  });
});
