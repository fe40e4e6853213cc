import { describe, expect, test } from "vitest";
import { expectErrorForm, type Reply } from "../../test/support/client.ts";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";
import { rawSocket, sendAs, type RawRequest } from "../../test/support/raw-request.ts";

const given = useSharedServer();
const PATH = "/api/v1.2/whitelist_ip";

const send = (client: AccountClient | undefined, request: Partial<RawRequest>): Promise<Reply> =>
  sendAs(given.base, client, { path: PATH, ...request });

describe("the order of checks", () => {
  test("is path, token, user state, permission, body, object, values", async () => {
    const account = await given.account();
    const pending = await given.member(account, { state: "pending", groups: ["system-admin"] });
    const member = await given.member(account);
    const broken = "{";
    const tooLarge = "x".repeat(1024 * 1024 + 1);
    const unknownId = `${PATH}/999999999`;
    const post: Partial<RawRequest> = { method: "POST" };
    const remove: Partial<RawRequest> = { method: "DELETE", path: unknownId };
    const cases: [string, AccountClient | undefined, Partial<RawRequest>, number][] = [
      ["unknown path before token", undefined, { ...post, path: "/api/v1.2/nothing", body: broken }, 404],
      ["method before token", undefined, { method: "PUT", body: broken }, 405],
      ["token before body", undefined, { ...post, body: broken }, 401],
      ["token before size", undefined, { ...post, body: tooLarge }, 401],
      ["state before body", pending, { ...post, body: broken }, 403],
      ["permission before body", member, { ...post, body: broken }, 403],
      ["permission before object", member, remove, 403],
      ["body before object", account, { ...remove, body: broken }, 400],
      ["size before object", account, { ...remove, body: tooLarge }, 413],
      ["object last", account, remove, 404],
      ["values last", account, { ...post, body: '{"ip_cidr":"x"}' }, 422],
    ];
    for (const [name, client, request, status] of cases) {
      const reply = await send(client, request);
      expect(reply.status, name).toBe(status);
      expectErrorForm(reply);
    }
  });
});

describe("where the path names an object that may have a policy", () => {
  test("a refusal comes before the faults of the body, and 404 for an unknown object after them", async () => {
    const account = await given.account();
    const user = await given.member(account, { groups: ["system-user"] });
    const outsider = await given.member(account);
    const { id } = await account.post("/api/v2/clusters", { labels: ["shared"], engine: { type: "local" } });
    const { id: note } = await account.post("/notebooks", { name: "n", location: "Common" });
    const policy = JSON.stringify([{ access: "deny", action: ["read", "update"] }]);
    for (const [type, source] of [
      ["cluster", id],
      ["note", note],
    ]) {
      await account.put("/object_policy/policy", { source_type: type, source_id: String(source), policy });
    }
    const at = (path: string, method = "PUT"): Partial<RawRequest> => ({ method, path: `/api/v1.2${path}` });
    const cluster = at(`/clusters/${id}`);
    const unknown = at("/clusters/999999999");
    const broken = "{";
    const tooLarge = "x".repeat(1024 * 1024 + 1);
    const cases: [string, AccountClient, Partial<RawRequest>, number][] = [
      ["permission before body", outsider, { ...cluster, body: broken }, 403],
      ["permission before size", outsider, { ...cluster, body: tooLarge }, 403],
      ["permission before body, for an unknown object", outsider, { ...unknown, body: broken }, 403],
      ["policy before body", user, { ...at(`/notebooks/${note}`), body: broken }, 403],
      ["policy before the body of a GET", user, { ...at(`/clusters/${id}`, "GET"), body: broken }, 403],
      ["policy before the body of a clone", user, { ...at(`/notebooks/${note}/clone`), body: broken }, 403],
      ["body before object", account, { ...unknown, body: broken }, 400],
      ["size before object", account, { ...unknown, body: tooLarge }, 413],
      ["body of an object", account, { ...cluster, body: broken }, 400],
      ["object before values", account, { ...unknown, body: '{"labels":7}' }, 404],
      ["values last", account, { ...cluster, body: '{"labels":7}' }, 422],
      ["all is well", account, { ...cluster, body: "{}" }, 200],
    ];
    for (const [name, client, request, status] of cases)
      expect((await send(client, request)).status, name).toBe(status);
  });

  test("cloning a cluster that the caller may not read is refused before the body is read", async () => {
    const account = await given.account();
    const policies = '[{"resource":"cluster","action":["create","read"],"access":"allow"}]';
    await account.post("/roles", { name: "makers", policies });
    await account.post("/groups", { name: "makers", roles: "makers" });
    const maker = await given.member(account, { groups: ["makers"] });
    const { id } = await account.post("/api/v2/clusters", { labels: ["shared"], engine: { type: "local" } });
    const clone: Partial<RawRequest> = { method: "POST", path: `/api/v1.2/clusters/${id}/clone`, body: "{" };
    expect((await send(maker, clone)).status).toBe(400);
    const policy = JSON.stringify([{ access: "deny", action: ["read"] }]);
    await account.put("/object_policy/policy", { source_type: "cluster", source_id: String(id), policy });
    expect((await send(maker, clone)).status).toBe(403);
  });
});

describe("every response", () => {
  test("has the request id in two headers, whatever its status", async () => {
    const account = await given.account();
    const requests: [AccountClient | undefined, Partial<RawRequest>, number][] = [
      [account, {}, 200],
      [undefined, {}, 401],
      [undefined, { path: "/nowhere" }, 404],
      [undefined, { method: "PUT" }, 405],
      [account, { method: "POST", body: "{" }, 400],
      [account, { method: "POST", body: "x".repeat(1024 * 1024 + 1) }, 413],
      [account, { method: "POST", body: "{}" }, 422],
      [undefined, { path: "/api/v1.2/whitelist_ip/%zz", method: "DELETE" }, 400],
      [undefined, { path: "/healthz" }, 200],
    ];
    for (const [client, request, status] of requests) {
      const { headers, status: got } = await send(client, request);
      expect(got, JSON.stringify(request).slice(0, 100)).toBe(status);
      expect(headers.get("x-request-id")).toMatch(/^[\w-]{36}$/);
      expect(headers.get("x-svc-trace-id")).toBe(headers.get("x-request-id"));
    }
  });

  test("repeats the client's request id if it is well formed, and has a new one otherwise", async () => {
    const own = await send(undefined, { headers: { "X-Request-Id": "job-17.a_b" } });
    expect(own.headers.get("x-request-id")).toBe("job-17.a_b");
    for (const id of ["a b", "x".repeat(65), '"', ""]) {
      const reply = await send(undefined, { headers: { "X-Request-Id": id } });
      expect(reply.headers.get("x-request-id")).toMatch(/^[\w-]{36}$/);
    }
  });

  test.each([
    ["headers that are too large", `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Big: ${"x".repeat(20_000)}\r\n\r\n`, 431],
    ["bytes that are not HTTP", "GARBAGE\r\n\r\n", 400],
    ["two lengths", "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx", 400],
    ["a bad header", "GET / HTTP/1.1\r\nHost: x\r\nBad Header: 1\r\n\r\n", 400],
  ])("to %s has the common error format", async (_name, bytes, status) => {
    const reply = await rawSocket(given.base, bytes);
    expect(reply.status).toBe(status);
    expectErrorForm(reply);
    expect(reply.headers.get("x-request-id")).toMatch(/^[\w-]{36}$/);
    expect(reply.headers.get("x-svc-trace-id")).toBe(reply.headers.get("x-request-id"));
  });
});
