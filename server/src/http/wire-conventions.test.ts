import { describe, expect, onTestFinished, test, vi } from "vitest";
import { expectErrorForm, type Reply } from "../../test/support/client.ts";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { sendAs, type RawRequest } from "../../test/support/raw-request.ts";

const given = useSharedServer();
const PATH = "/api/v1.2/whitelist_ip";

const send = (client: AccountClient | undefined, request: Partial<RawRequest>): Promise<Reply> =>
  sendAs(given.base, client, { path: PATH, ...request });

async function listed(account: AccountClient): Promise<string[]> {
  const { account_whitelisted_ips: ips } = await account.get("/whitelist_ip");
  return ips.map(({ ip_cidr }: { ip_cidr: string }) => ip_cidr);
}

describe("a path", () => {
  test.each([
    PATH,
    `${PATH}/`,
    `${PATH}//`,
    `${PATH}?`,
    `${PATH}/?`,
    `${PATH}.json`,
    `${PATH}.json/`,
    `${PATH}.json?`,
    `${PATH}?x=1&x=2&&=&y`,
  ])("%s is the same list", async (path) => {
    const account = await given.account();
    const reply = await send(account, { path });
    expect(reply.status).toBe(200);
    expect(reply.body).toEqual({ account_whitelisted_ips: [] });
  });

  test.each(["", "/", ".json", "?"])("with an id may end in %j", async (suffix) => {
    const account = await given.account();
    await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" });
    const [{ id }] = (await account.get("/whitelist_ip")).account_whitelisted_ips;
    const reply = await send(account, { method: "DELETE", path: `${PATH}/${id}${suffix}` });
    expect(reply.status).toBe(200);
  });

  test.each(["/", "/api", "/api/v1.2", "/api/v3/whitelist_ip", "/api/v1.2/nothing", "/api/v1/whitelist_ip", "/x.json"])(
    "%s is unknown: 404 in the common error format, without a token",
    async (path) => {
      const reply = await send(undefined, { path });
      expect(reply.status).toBe(404);
      expectErrorForm(reply);
    },
  );

  test.each(["%zz", "%", "%E0%A4%A", "%ff"])(
    "with the broken escape %s is refused in the common error format",
    async (id) => {
      const account = await given.account();
      const reply = await send(account, { method: "DELETE", path: `${PATH}/${id}` });
      expect([400, 404]).toContain(reply.status);
      expectErrorForm(reply);
    },
  );

  test("with an id of any length is 404 if the id is unknown", async () => {
    const account = await given.account();
    for (const length of [100, 5_000, 12_000]) {
      const reply = await send(account, { method: "DELETE", path: `${PATH}/${"9".repeat(length)}` });
      expect(reply.status, String(length)).toBe(404);
      expectErrorForm(reply);
    }
  });

  test.each(["POST", "PUT", "PATCH", "OPTIONS", "TRACE", "PROPFIND", "HEAD"])(
    "%s where it is not possible is 405 with Allow, without a token",
    async (method) => {
      const reply = await send(undefined, { method, path: `${PATH}/7` });
      expect(reply.status).toBe(405);
      expect(reply.headers.get("allow")).toBe("DELETE");
      if (method !== "HEAD") expectErrorForm(reply);
    },
  );

  test("Allow names every method of the path", async () => {
    const reply = await send(undefined, { method: "DELETE" });
    expect(reply.headers.get("allow")?.split(", ").toSorted()).toEqual(["GET", "HEAD", "POST"]);
  });

  test("HEAD answers as GET without the body", async () => {
    const account = await given.account();
    const reply = await send(account, { method: "HEAD" });
    expect(reply.status).toBe(200);
    expect(reply.text).toBe("");
    expect((await send(undefined, { method: "HEAD" })).status).toBe(401);
  });
});

describe("a body", () => {
  test.each([
    "application/json",
    "application/x-www-form-urlencoded",
    "text/plain; charset=latin1",
    "multipart/form-data; boundary=x",
    "garbage",
    "",
    undefined,
  ])("is JSON whatever Content-Type (%j) and Accept say", async (type) => {
    const account = await given.account();
    for (const [index, accept] of ["application/json", "text/html", "*/*", "garbage;;q=x", ""].entries()) {
      const headers: Record<string, string> = {
        Accept: accept,
        ...(type === undefined ? {} : { "Content-Type": type }),
      };
      const reply = await send(account, { method: "POST", headers, body: `{"ip_cidr":"10.0.0.${index}"}` });
      expect(reply.status, reply.text).toBe(200);
      expect(reply.headers.get("content-type")).toBe("application/json; charset=utf-8");
    }
    expect(await listed(account)).toHaveLength(5);
  });

  test("of a GET may have a Content-Type or none, and may be empty", async () => {
    const account = await given.account();
    for (const request of [
      { headers: { "Content-Type": "application/json" } },
      { headers: { "Content-Type": "application/json", "Content-Length": "0" } },
      { headers: { "Content-Type": "application/json" }, body: "{}" },
      { body: '{"page":1}' },
      { body: "null" },
      { headers: { "Transfer-Encoding": "chunked" }, body: "{}" },
    ]) {
      expect((await send(account, request)).status, JSON.stringify(request)).toBe(200);
    }
    const malformed = await send(account, { body: "{" });
    expect(malformed.status).toBe(400);
    expect((await send(account, { body: "[1]" })).status).toBe(422);
  });

  test("of a POST may be absent, empty, or blank: then every field is unset", async () => {
    const account = await given.account();
    for (const request of [
      {},
      { headers: { "Content-Length": "0" } },
      { body: "" },
      { body: " \r\n" },
      { body: "{}" },
    ]) {
      const reply = await send(account, { method: "POST", ...request });
      expect(reply.status, JSON.stringify(request)).toBe(422);
      expect(reply.body.error.error_message).toMatch(/^ip_cidr is required/);
    }
  });

  test("of a DELETE may be absent, empty or an object", async () => {
    const account = await given.account();
    for (const request of [
      {},
      { headers: { "Content-Length": "0", "Content-Type": "application/json" } },
      { body: "" },
      { body: "{}" },
      { body: '{"x":null}' },
    ]) {
      await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" });
      const [{ id }] = (await account.get("/whitelist_ip")).account_whitelisted_ips;
      const reply = await send(account, { method: "DELETE", path: `${PATH}/${id}`, ...request });
      expect(reply.status, JSON.stringify(request)).toBe(200);
    }
  });

  test("of a PUT may be absent, empty or an empty object", async () => {
    const account = await given.account();
    const { group } = await account.post("/groups", { name: "g" });
    const { roles: role } = await account.post("/roles", { name: "r" });
    for (const request of [
      {},
      { headers: { "Content-Length": "0" } },
      { headers: { "Content-Length": "0", "Content-Type": "application/json" } },
      { body: "" },
      { body: "{}" },
    ]) {
      for (const verb of ["assign", "unassign"]) {
        const path = `/api/v1.2/groups/${group.id}/roles/${role.name}/${verb}`;
        const reply = await send(account, { method: "PUT", path, ...request });
        expect(reply.body, JSON.stringify(request)).toEqual({ status: "done" });
      }
    }
  });

  test("may have null for unset fields, numbers as text, and a capitalised True", async () => {
    const account = await given.account();
    const created = await account.post("/account", {
      account: {
        name: "Loose",
        level: null,
        defloc: null,
        acc_key: null,
        secret: null,
        CacheQuotaSizeInGB: "30",
        idle_cluster_timeout: "6",
        idle_session_timeout: "10800",
        sub_account_creation: "True",
        aws_region: null,
        anything: null,
      },
    });
    const owner = { headers: { "X-AUTH-TOKEN": created.authentication_token } };
    expect(await account.get("/api/v2/accounts?x=True", owner)).toMatchObject({
      name: "Loose",
      CacheQuotaSizeInGB: 30,
      idle_cluster_timeout: 6,
      idle_session_timeout: 10_800,
    });
    const { paging_info: paging } = await account.get("/users?page=1&per_page=25");
    expect(paging).toEqual({ previous_page: null, next_page: null, per_page: 25 });
  });

  test("may have unknown keys, which are ignored; null is the same as absent", async () => {
    const account = await given.account();
    await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1", other: { a: [1] }, comment: null });
    await account.post("/whitelist_ip", { ip_cidr: null }).refused(422, /^ip_cidr is required/);
    await send(account, { method: "POST", body: '{"ip_cidr":"10.0.0.2","__proto__":{"x":1},"constructor":1}' });
    expect(await listed(account)).toEqual(["10.0.0.1", "10.0.0.2"]);
  });

  test("may start with a byte order mark", async () => {
    const account = await given.account();
    const reply = await send(account, { method: "POST", body: '\uFEFF{"ip_cidr":"10.0.0.1"}' });
    expect(reply.status).toBe(200);
  });

  test.each(["[]", "[1]", '"text"', "7", "true"])("%s is not an object and therefore 422", async (body) => {
    const account = await given.account();
    for (const method of ["POST", "DELETE"]) {
      await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" });
      const [{ id }] = (await account.get("/whitelist_ip")).account_whitelisted_ips;
      const reply = await send(account, { method, path: method === "POST" ? PATH : `${PATH}/${id}`, body });
      expect(reply.status, method).toBe(422);
      expectErrorForm(reply);
    }
  });

  test.each([
    ["broken JSON", Buffer.from('{"ip_cidr":')],
    ["single quotes", Buffer.from("{'ip_cidr':1}")],
    ["a form", Buffer.from("ip_cidr=10.0.0.1")],
    ["invalid UTF-8", Buffer.from([0x7b, 0x22, 0xff, 0xfe, 0x22, 0x3a, 0x31, 0x7d])],
    ["a thousand levels", Buffer.from(`{"ip_cidr":${"[".repeat(1000)}${"]".repeat(1000)}}`)],
    ["a hundred thousand levels", Buffer.from(`${"[".repeat(100_000)}${"]".repeat(100_000)}`)],
  ])("of %s is 400", async (_name, body) => {
    const account = await given.account();
    const reply = await send(account, { method: "POST", body });
    expect(reply.status, reply.text).toBe(400);
    expectErrorForm(reply);
    expect(await listed(account)).toEqual([]);
  });

  test.each([
    ['{"ip_cidr": "10.0.0.1",}', "expected double-quoted property name at line 1, column 24"],
    ['{"ip_cidr": "10.0.0.1"\n "a": 1}', "expected ',' or '}' after property value at line 2, column 2"],
    ["{'ip_cidr': 1}", "expected property name or '}' at line 1, column 2"],
    ['{"ip_cidr": "10.0.0.1"', "expected ',' or '}' after property value at line 1, column 23"],
    ['{"ip_cidr":', "unexpected end at line 1, column 12"],
    ['{"password": hunter2}', "unexpected character h at line 1, column 14"],
    ['{"password": hunter2 at position 3}', "unexpected character h at line 1, column 14"],
    ["undefined", "unexpected character u at line 1, column 1"],
    ["NaN123", "unexpected character N at line 1, column 1"],
    ['{\n  "ip_cidr": "ä",\n  "b": [1,]\n}', "unexpected character ] at line 3, column 11"],
    ['{"ip_cidr":\u0007}', "unexpected character U+0007 at line 1, column 12"],
    ["ip_cidr=10.0.0.1", "unexpected character i at line 1, column 1"],
    ['{"ip_cidr": trust}', "unexpected character s at line 1, column 16"],
    ['{"ip_cidr": ["a\\"[x", "b",\t],}', "unexpected character ] at line 1, column 28"],
    [`[${"1,".repeat(32_000)}x]`, "unexpected character x at line 1, column 64002"],
    [`[${"1,".repeat(33_000)}x]`, "unexpected character"],
  ])("of broken JSON is 400 with the position, and repeats at most one character: %.40s", async (body, problem) => {
    const { body: reply } = await (await given.account()).post(PATH, undefined, { rawBody: body }).refused(400);
    expect(reply.error.error_message).toBe(`The body is not valid JSON: ${problem}.`);
  });

  test("of broken JSON is parsed only once", async () => {
    const account = await given.account();
    const parse = vi.spyOn(JSON, "parse");
    onTestFinished(() => parse.mockRestore());
    await account.post(PATH, undefined, { rawBody: `[${"1,".repeat(5_000)}x]` }).refused(400, /column 10002/);
    expect(parse.mock.calls.filter(([text]) => text.startsWith("[1,"))).toHaveLength(1);
  });

  test("over 1 MB is 413, with or without a declared length; just below is accepted", async () => {
    const account = await given.account();
    const big = JSON.stringify({ ip_cidr: "10.0.0.1", filler: "x".repeat(1024 * 1024) });
    for (const headers of [{}, { "Transfer-Encoding": "chunked" }]) {
      const reply = await send(account, { method: "POST", headers, body: big });
      expect(reply.status).toBe(413);
      expectErrorForm(reply);
    }
    expect(await listed(account)).toEqual([]);
    const fits = JSON.stringify({ ip_cidr: "10.0.0.1", filler: "x".repeat(1024 * 1000) });
    expect((await send(account, { method: "POST", body: fits })).status).toBe(200);
  });
});
