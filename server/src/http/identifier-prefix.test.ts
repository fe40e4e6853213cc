import { describe, expect, test } from "vitest";
import { useServer } from "../../test/support/given.ts";
import { canonicalUrl, prefixRewrite } from "./canonical-form.ts";

const given = useServer({ settings: { HEADGATE_IDENTIFIER_PREFIX: "acme" } });

const FORMS: [name: string, formOf: (policy: object[]) => unknown][] = [
  ["text", (policy) => JSON.stringify(policy)],
  ["an array", (policy) => policy],
];

describe("a deployment with its own identifier prefix", () => {
  test("uses it in paths and keys, and the neutral prefix is an unknown path", async () => {
    const account = await given.account();
    const member = await given.member(account, { state: "pending" });
    await account.post("/accounts/enable_svc_user", { svc_user_id: member.email }).refused(404);
    expect(await account.post("/accounts/enable_acme_user", { acme_user_id: member.email })).toEqual({
      status: "success",
      id: member.membershipId,
      email: member.email,
    });
    await account.post("/api/latest/accounts/disable_acme_user/", { acme_user_id: String(member.membershipId) });
    await member.get("/whitelist_ip").refused(403, /disabled/);
  });

  test.each(["/api/v1.2/groups/5/svc_users", "/api/v1.2/groups/5/acme_user", "/api/v1.2/x-svc_user"])(
    "shows an unknown path as it was sent: %s",
    async (path) => {
      await given
        .anonymous()
        .get(path)
        .refused(404, new RegExp(`no operation GET ${path}\\. `));
    },
  );

  test("names fields in messages as the client spells them", async () => {
    const account = await given.account();
    await account.post("/accounts/enable_acme_user", {}).refused(422, /^acme_user_id is required/);
    const member = await given.member(account);
    await member.post("/accounts/enable_acme_user", {}).refused(403, /acme_user:update/);
    const largeBody = { padding: "x".repeat(2 * 1024 * 1024) };
    await member.post("/accounts/enable_acme_user", largeBody).refused(403, /acme_user:update/);
  });

  test("uses it in the header of the request id", async () => {
    const { headers } = await given.anonymous().get("/whitelist_ip").reply();
    expect(headers.get("x-acme-trace-id")).toBe(headers.get("x-request-id"));
    expect(headers.get("x-svc-trace-id")).toBeNull();
  });

  test.each(FORMS)("uses it in the policies of roles as %s, which take effect", async (_, formOf) => {
    const account = await given.account();
    const policies = [{ resource: "acme_user", action: ["update"], access: "allow" }];
    const { roles: role } = await account.post("/roles", { name: "enablers", policies: formOf(policies) });
    expect(role.policy).toBe(JSON.stringify(policies));
    await account.post("/groups", { name: "gate", roles: "enablers" });
    const member = await given.member(account, { groups: ["gate"] });
    const pending = await given.member(account, { state: "pending" });
    await member.post("/accounts/enable_acme_user", { acme_user_id: pending.email });
  });

  test("uses it inside the policies of objects, which take effect", async () => {
    const account = await given.account();
    const { group } = await account.post("/groups", { name: "readers" });
    const member = await given.member(account, { groups: ["readers", "system-user"] });
    const { id } = await account.post("/api/v2/clusters", { labels: ["shared"], engine: { type: "local" } });
    const condition = { acme_users: [member.membershipId], acme_groups: [group.id] };
    const policy = [
      { access: "allow", action: ["read", "update"], condition },
      { access: "deny", action: ["all"], condition },
    ];
    const source = { source_id: String(id), source_type: "cluster" };
    const path = "/object_policy/policy";
    const shown = { status: "success", source_id: id, source_type: "cluster", policy };
    expect(await account.put(path, { ...source, policy: JSON.stringify(policy) })).toEqual(shown);
    expect(await account.get(`${path}?source_id=${id}&source_type=cluster`)).toEqual(shown);
    await member.put(`/api/v2/clusters/${id}`, {});
    await member.put(`/api/v2/clusters/${id}/state`, { state: "start" }).refused(403);
    const unknown = JSON.stringify([{ access: "deny", action: ["all"], condition: { acme_users: [987_654] } }]);
    await account.put(path, { ...source, policy: unknown }).refused(422, /^policy\[0\]\.condition\.acme_users must/);
  });

  test.each(FORMS)(
    "treats names with the neutral prefix as unknown in bodies and policies as %s",
    async (_, formOf) => {
      const account = await given.account();
      const member = await given.member(account, { state: "pending" });
      const named = { svc_user_id: member.email };
      await account.post("/accounts/enable_acme_user", named).refused(422, /^acme_user_id is required/);
      const { id } = await account.post("/api/v2/clusters", { labels: ["shared"], engine: { type: "local" } });
      const condition = { svc_users: [member.membershipId] };
      const policy = formOf([{ access: "deny", action: ["all"], condition }]);
      const request = { source_id: String(id), source_type: "cluster", policy };
      await account.put("/object_policy/policy", request).refused(422, /^policy\[0\]\.condition must name a user/);
      const policies = formOf([{ resource: "svc_user", action: ["update"], access: "allow" }]);
      await account
        .post("/roles", { name: "enablers", policies })
        .refused(422, /^policies\[0\]\.resource must.*acme_user/);
    },
  );

  test("shows the policies of roles byte for byte", async () => {
    const account = await given.account();
    const policies =
      '[{"resource": "command", "action": ["read"], "access": "allow", "note": ["svc_user", "acme_user"]}]';
    const { roles: role } = await account.post("/roles", { name: "readers", policies });
    expect(role.policy).toBe(policies);
  });

  test("leaves .ipynb files as they are, in imports, exports and dashboards", async () => {
    const account = await given.account();
    const data = { "application/json": { svc_users: [1], acme_users: [2], policy: '{"svc_users":[]}' } };
    const outputs = [{ output_type: "display_data", metadata: { acme_groups: 1 }, data }];
    const cell = { cell_type: "code", execution_count: 1, metadata: { svc_user_id: 1 }, outputs, source: "" };
    const notebook = { cells: [cell], metadata: { acme_session_id: 1 }, nbformat: 4, nbformat_minor: 4 };
    const { id } = await account.post("/notebooks/import", { name: "a", notebook });
    expect(await account.get(`/notebooks/${id}/export`)).toEqual(notebook);
    const dashboard = await account.post("/notebook_dashboards", { note_id: id, name: "a" });
    const { paragraphs } = await account.get(`/notebook_dashboards/${dashboard.id}`);
    expect(paragraphs[0].outputs).toEqual(outputs);
  });

  test("uses it in the members of a group", async () => {
    const account = await given.account();
    const { group } = await account.post("/groups", { name: "readers" });
    const member = await given.member(account);
    await account.put(`/groups/${group.id}/acme_users/${member.membershipId}/add`, {});
    const { users } = await account.get(`/groups/${group.id}/acme_users`);
    expect(users).toMatchObject([{ id: member.membershipId }]);
    await account.get(`/groups/${group.id}/svc_users`).refused(404);
  });
});

describe("the rewrite of keys", () => {
  test("works in both directions at any depth, and leaves values alone", () => {
    const wire = {
      acme_user_id: "acme_user_id",
      policy: '[{"condition":{"acme_users":[1],"acme_groups":[2]}}]',
      list: [{ acme_session_id: null }],
    };
    const defined = {
      svc_user_id: "acme_user_id",
      policy: '[{"condition":{"svc_users":[1],"svc_groups":[2]}}]',
      list: [{ svc_session_id: null }],
    };
    const rewrite = prefixRewrite("acme");
    expect(rewrite.incoming(wire)).toEqual(defined);
    expect(rewrite.outgoing(defined)).toEqual(wire);
  });

  test("renames the schema of a query, and leaves the query alone", () => {
    const schemaOf = (prefix: string) => ({ qlog: `{"${prefix}-QUERY-SCHEMA":{"select '{"SVC-QUERY-SCHEMA":'":[]}}` });
    expect(prefixRewrite("acme").outgoing([schemaOf("SVC"), { qlog: null }])).toEqual([
      schemaOf("ACME"),
      { qlog: null },
    ]);
  });

  test("renames the fields that our messages name, but nothing in a path, and takes no longer for a long text", () => {
    const rewrite = prefixRewrite("acme");
    const message = (prefix: string) => ({ error_message: `${prefix}_user_id: GET /svc_users is (${prefix}_user)` });
    expect(rewrite.outgoing(message("svc"))).toEqual(message("acme"));
    const long = { error_message: "svc_user.".repeat(200_000) };
    expect(rewrite.outgoing(long)).toEqual({ error_message: "acme_user.".repeat(200_000) });
  });

  test("leaves messages of clients alone", () => {
    const sent = { error_message: "acme_user.".repeat(100_000) };
    expect(prefixRewrite("acme").incoming(sent)).toEqual(sent);
  });

  test("does nothing by default", () => {
    const value = { svc_user_id: 1 };
    expect(prefixRewrite("svc").incoming(value)).toBe(value);
  });
});

test.each(["constructor", "__proto__", "svc_user", "acme_user"])("other path segments are unchanged: %s", (name) => {
  expect(canonicalUrl(`/api/v1.2/groups/${name}/acme_users`, "acme")).toBe(`/api/v1.2/groups/${name}/svc_users`);
});
