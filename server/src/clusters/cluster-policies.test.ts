/** The policy of a cluster decides about every operation on it, before the permission table. */
import { beforeEach, describe, expect, test } from "vitest";
import { useSharedServer, type MemberClient } from "../../test/support/given.ts";
import type { Call, Client } from "../../test/support/client.ts";
import { givenTeam, type Team } from "../../test/support/team.ts";
import { withoutId } from "../../test/support/without-id.ts";

const given = useSharedServer();

let admin: Team["admin"];
let user: Team["user"];
let outsider: Team["outsider"];
let groupId: number;
let id: number;

beforeEach(async () => {
  ({ admin, user, outsider, groupId } = await givenTeam(given));
  ({ id } = await admin.post("/api/v2/clusters", { labels: ["shared"], engine: { type: "local" } }));
});

function setPolicy(elements: readonly unknown[], client: Client = admin): Call {
  const policy = JSON.stringify(elements);
  return client.put("/object_policy/policy", { source_type: "cluster", source_id: String(id), policy });
}

const to = (...members: MemberClient[]) => ({ svc_users: members.map(({ membershipId }) => membershipId) });

/** Each operation, with the action that it needs. An allowed request changes nothing that other requests depend on. */
const OPERATIONS: { name: string; action: string; call: (client: Client, cluster?: number) => Call }[] = [
  { name: "view", action: "read", call: (client, at = id) => client.get(`/api/v2/clusters/${at}`) },
  { name: "state", action: "read", call: (client, at = id) => client.get(`/api/v2/clusters/${at}/state`) },
  { name: "edit", action: "update", call: (client, at = id) => client.put(`/api/v2/clusters/${at}`, {}) },
  {
    name: "reassign-label",
    action: "update",
    call: (client, at = id) =>
      client.put("/api/v2/clusters/reassign-label", { destination_cluster: String(at), label: "shared" }),
  },
  {
    name: "start",
    action: "start",
    call: (client, at = id) => client.put(`/api/v2/clusters/${at}/state`, { state: "start" }),
  },
  {
    name: "terminate",
    action: "terminate",
    call: (client, at = id) => client.put(`/api/v2/clusters/${at}/state`, { state: "terminate", force: true }),
  },
  { name: "delete", action: "delete", call: (client, at = id) => client.delete(`/api/v2/clusters/${at}`) },
];

/** Whether the call passed the gate. It may still be 422: a terminating cluster cannot be deleted at once. */
async function isAdmitted(call: Call): Promise<boolean> {
  const { status, text } = await call.reply();
  expect([200, 403, 422], text).toContain(status);
  return status !== 403;
}

describe("a member without any permission", () => {
  test.each(OPERATIONS)("may $name if the policy allows $action, and nothing else", async ({ name, action }) => {
    await setPolicy([{ access: "allow", action: [action], condition: to(outsider) }]);
    for (const other of OPERATIONS) {
      const isAllowed = other.action === action;
      expect(await isAdmitted(other.call(outsider)), `${name}: ${other.name}`).toBe(isAllowed);
    }
    for (const path of ["/commands", "/groups", "/api/v2/apps", "/api/v2/clusters/default"])
      await outsider.get(path).refused(403);
    await outsider.post("/api/v2/clusters", { labels: ["own"], engine: { type: "local" } }).refused(403);
  });

  test.each([
    { by: "user", condition: () => to(outsider), isByGroup: false },
    { by: "group", condition: () => ({ svc_groups: [groupId] }), isByGroup: true },
    { by: "user and group", condition: () => ({ ...to(outsider), svc_groups: [groupId] }), isByGroup: false },
  ])("is admitted by $by from the next request on", async ({ condition, isByGroup }) => {
    const view = (): Call => outsider.get(`/api/v2/clusters/${id}`);
    await admin.put(`/groups/${groupId}/svc_users/${outsider.membershipId}/add`, {});
    const refused = await view().refused(403);
    await setPolicy([{ access: "allow", action: ["all"], condition: condition() }]);
    expect(await view()).toMatchObject({ id });
    await admin.put(`/groups/${groupId}/svc_users/${outsider.membershipId}/remove`, {});
    expect(await isAdmitted(view())).toBe(!isByGroup);
    await setPolicy([]);
    expect((await view().refused(403)).text).toBe(refused.text);
  });

  test("cannot tell existing clusters from unknown ones, nor from those of another account", async () => {
    const other = await given.account();
    const { id: foreign } = await other.post("/api/v2/clusters", { labels: ["theirs"], engine: { type: "local" } });
    await setPolicy([{ access: "deny", action: ["all"], condition: to(outsider) }]);
    for (const { call, name } of OPERATIONS) {
      const texts = await Promise.all(
        [id, foreign, 98_765_432].map(async (at) => (await call(outsider, at).refused(403)).text),
      );
      expect(new Set(texts).size, name).toBe(1);
    }
  });
});

describe("a system-user", () => {
  test("is refused by a deny that names them, and by one for everyone", async () => {
    await setPolicy([{ access: "deny", action: ["read"], condition: to(user) }]);
    await user.get(`/api/v2/clusters/${id}`).refused(403, /the policy of the cluster denies read/);
    await user.get(`/api/v2/clusters/${id}/state`).refused(403);
    expect(await isAdmitted(user.put(`/api/v2/clusters/${id}/state`, { state: "start" }))).toBe(true);
    await setPolicy([{ access: "deny", action: ["all"] }]);
    for (const { call } of OPERATIONS) expect(await isAdmitted(call(user))).toBe(false);
    await user.get("/api/v2/clusters/default");
  });

  test("gets the same 404 for unknown clusters and for those of another account", async () => {
    const other = await given.account();
    const { id: foreign } = await other.post("/api/v2/clusters", { labels: ["theirs"], engine: { type: "local" } });
    const [one, two] = [
      await user.get(`/api/v2/clusters/${foreign}`).refused(404),
      await user.get("/api/v2/clusters/98765432").refused(404),
    ];
    expect(withoutId(one, foreign)).toBe(withoutId(two, "98765432"));
  });
});

describe("the owner and system-admins", () => {
  test("are always allowed", async () => {
    await admin.post("/roles", {
      name: "makers",
      policies: '[{"resource":"cluster","action":["create"],"access":"allow"}]',
    });
    await admin.post("/groups", { name: "makers", roles: "makers" });
    const owner = await given.member(admin, { groups: ["makers"] });
    ({ id } = await owner.post("/api/v2/clusters", { labels: ["owned"], engine: { type: "local" } }));
    await setPolicy([{ access: "deny" }]);
    for (const client of [owner, admin]) {
      for (const { call, name } of OPERATIONS.slice(0, 3)) expect(await isAdmitted(call(client)), name).toBe(true);
      await setPolicy([{ access: "deny" }], client);
    }
    for (const { call } of OPERATIONS) expect(await isAdmitted(call(user))).toBe(false);
  });

  test("the creator of a clone owns it, and the default cluster has no owner", async () => {
    const { id: clone } = await admin.post(`/api/v2/clusters/${id}/clone`, { labels: ["clone"] });
    const rows = await given.app.services.db.system.query<{ id: number; owner: string | null }>(
      `select c.id, u.email as owner from cluster c left join membership m on m.id = c.owner_id
         left join app_user u on u.id = m.user_id where c.account_id = $1 order by c.id`,
      [admin.accountId],
    );
    expect(rows.map(({ owner }) => owner)).toEqual([null, admin.email, admin.email]);
    expect(rows.at(-1)?.id).toBe(clone);
  });
});

describe("clone", () => {
  test("needs the permission to create clusters, and is refused if the policy denies read", async () => {
    await admin.post("/roles", {
      name: "makers",
      policies: '[{"resource":"cluster","action":["create"],"access":"allow"}]',
    });
    await admin.post("/groups", { name: "makers", roles: "makers" });
    const maker = await given.member(admin, { groups: ["makers"] });
    await setPolicy([{ access: "allow", action: ["all"], condition: to(outsider, maker) }]);
    await outsider.post(`/api/v2/clusters/${id}/clone`, { labels: ["a"] }).refused(403);
    await maker.post(`/api/v2/clusters/${id}/clone`, { labels: ["a"] });
    await setPolicy([{ access: "deny", action: ["read"], condition: to(maker) }]);
    await maker.post(`/api/v2/clusters/${id}/clone`, {}).refused(403, /denies read/);
  });
});

describe("reassign-label", () => {
  test("also needs update on the cluster that loses the label", async () => {
    const { id: second } = await admin.post("/api/v2/clusters", { labels: ["second"], engine: { type: "local" } });
    await setPolicy([{ access: "allow", action: ["update"], condition: to(outsider) }]);
    const move = (): Call =>
      outsider.put("/api/v2/clusters/reassign-label", { destination_cluster: String(id), label: "second" });
    const hidden = await move().refused(403);
    const unknown = { destination_cluster: String(id), label: "nowhere" };
    expect((await outsider.put("/api/v2/clusters/reassign-label", unknown).refused(403)).text).toBe(hidden.text);
    await admin.put("/api/v2/clusters/reassign-label", unknown).refused(422, /^label names no cluster/);
    const policy = JSON.stringify([{ access: "allow", action: ["update"], condition: to(outsider) }]);
    await admin.put("/object_policy/policy", { source_type: "cluster", source_id: String(second), policy });
    expect(await move()).toMatchObject({ id, labels: ["second", "shared"] });
  });
});

describe("the list of clusters", () => {
  const labels = async (client: Client, query = ""): Promise<string[]> =>
    (await client.get(`/api/v2/clusters${query}`)).clusters.flatMap((cluster: { labels: string[] }) => cluster.labels);

  test("shows a system-user everything but what is denied", async () => {
    await setPolicy([{ access: "deny", action: ["read"], condition: to(user) }]);
    expect(await labels(user)).toEqual(["default"]);
    expect(await labels(admin)).toEqual(["default", "shared"]);
  });

  test("shows others only what is allowed, and 403 if that is nothing", async () => {
    await outsider.get("/api/v2/clusters").refused(403);
    await setPolicy([{ access: "allow", action: ["start"], condition: to(outsider) }]);
    await outsider.get("/api/v2/clusters").refused(403);
    await setPolicy([{ access: "allow", action: ["read"], condition: to(outsider) }]);
    expect(await labels(outsider)).toEqual(["shared"]);
    await outsider.get("/api/v2/clusters?per_page=x").refused(422);
    await setPolicy([{ access: "allow", action: ["all"], condition: { svc_groups: [groupId] } }, { access: "deny" }]);
    await outsider.get("/api/v2/clusters").refused(403);
    await admin.put(`/groups/${groupId}/svc_users/${outsider.membershipId}/add`, {});
    expect(await labels(outsider)).toEqual(["shared"]);
  });

  test("counts only readable clusters in its pages", async () => {
    for (const label of ["a", "b", "c"])
      await admin.post("/api/v2/clusters", { labels: [label], engine: { type: "local" } });
    await setPolicy([{ access: "deny" }]);
    const first = await user.get("/api/v2/clusters?per_page=2");
    expect(first.paging_info).toEqual({ previous_page: null, next_page: 2, per_page: 2 });
    expect(await labels(user, "?per_page=2")).toEqual(["default", "a"]);
    expect(await labels(user, "?per_page=2&page=2")).toEqual(["b", "c"]);
    expect((await user.get("/api/v2/clusters?per_page=2&page=2")).paging_info.next_page).toBeNull();
  });
});

describe("a deleted cluster", () => {
  test("loses its policy", async () => {
    await setPolicy([{ access: "allow", action: ["read"], condition: to(outsider) }]);
    await admin.delete(`/api/v2/clusters/${id}`);
    const rows = await given.app.services.db.system.query(
      "select from policy_rule where account_id = $1 union all select from object_policy where account_id = $1",
      [admin.accountId],
    );
    expect(rows).toEqual([]);
    await outsider.get("/api/v2/clusters").refused(403);
  });
});

describe("commands on a cluster", () => {
  const sql = { command_type: "SparkCommand", sql: "select 1", label: "shared" };
  const refresh = { command_type: "HiveCommand", template: "s3import", db_name: "d", hive_table: "t", label: "shared" };

  test("are refused at submission and rerun if the policy denies start", async () => {
    const { id: command } = await user.post("/commands", sql);
    await setPolicy([{ access: "deny", action: ["start"], condition: to(user) }]);
    await user.post("/commands", sql).refused(403, /the policy of the cluster denies start/);
    await user.post(`/commands/${command}/rerun`, {}).refused(403, /denies start/);
    await user.post("/commands", { ...sql, label: "default" });
    await admin.post("/commands", sql);
    expect(await user.get(`/commands/${command}`)).toMatchObject({ id: command });
  });

  test("that need no cluster are not refused by its policy", async () => {
    await setPolicy([{ access: "deny" }]);
    const { id: command } = await user.post("/commands", refresh);
    await user.post(`/commands/${command}/rerun`, {});
  });

  test("need the permission to submit, whatever the policy allows, before the body is read", async () => {
    await setPolicy([{ access: "allow", action: ["start", "all"], condition: to(outsider) }]);
    await outsider.post("/commands", sql).refused(403, /needs membership in system-user/);
    await outsider.post("/commands", undefined, { rawBody: "{" }).refused(403, /needs membership in system-user/);
  });

  test("that already wait stay queued when a policy changes", async () => {
    const { id: command } = await user.post("/commands", sql);
    await setPolicy([{ access: "deny" }]);
    expect(await user.get(`/commands/${command}`)).toMatchObject({ status: "waiting" });
  });
});
