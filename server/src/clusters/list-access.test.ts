/** Who may run commands on a cluster: what the server does, what it explains and what it lists must agree. */
import { Socket } from "node:net";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import type { Call, Client } from "../../test/support/client.ts";
import { useServer, type MemberClient } from "../../test/support/given.ts";
import { roleHolder } from "../../test/support/role-holder.ts";
import { givenTeam, type Team } from "../../test/support/team.ts";
import { withoutId } from "../../test/support/without-id.ts";

const given = useServer({ settings: { HEADGATE_RATE_LIMIT: "0" } });

let team: Team;
let id: number;

beforeEach(async () => {
  team = await givenTeam(given);
  ({ id } = await team.admin.post("/api/v2/clusters", { labels: ["shared"], engine: { type: "local" } }));
});

const to = (...members: MemberClient[]) => ({ svc_users: members.map(({ membershipId }) => membershipId) });

function setPolicy(elements: readonly unknown[]): Call {
  const policy = JSON.stringify(elements);
  return team.admin.put("/object_policy/policy", { source_type: "cluster", source_id: String(id), policy });
}

async function closeClusters(): Promise<void> {
  const operator = await given.operator();
  await operator.put(`/api/v2/accounts/${team.admin.accountId}/features`, { features: { closed_clusters: true } });
}

const sql = { command_type: "SparkCommand", sql: "select 1", label: "shared" };

async function maySubmit(client: Client): Promise<boolean> {
  const { status, text } = await client.post("/commands", sql).reply();
  expect([200, 403], text).toContain(status);
  return status === 200;
}

const explain = (member: MemberClient, action = "submit") =>
  team.admin.get(
    `/api/v2/access/explain?source_type=cluster&source_id=${id}&action=${action}&user=${member.membershipId}`,
  );

/** What decides about a submission by each user of the team, after all ways to ask have agreed. */
async function decisions(): Promise<Record<string, string>> {
  const { access } = await team.admin.get(`/api/v2/clusters/${id}/access?per_page=100`);
  const found: Record<string, string> = {};
  for (const name of ["user", "outsider"] as const) {
    const member = team[name];
    const { source_type: _, source_id: __, action: ___, ...explanation } = await explain(member);
    expect(access).toContainEqual(explanation);
    expect(explanation.allowed, name).toBe(await maySubmit(member));
    found[name] = `${explanation.allowed ? "allowed" : "refused"} by ${explanation.decided_by}`;
  }
  return found;
}

describe("commands on a cluster", () => {
  test("are allowed by the permission to submit, unless the policy denies start", async () => {
    expect(await decisions()).toEqual({ user: "allowed by table", outsider: "refused by table" });
    expect((await explain(team.user)).permission).toEqual({
      groups: ["system-user", "system-admin"],
      role: "command:create",
    });
    await setPolicy([{ access: "allow", action: ["start"], condition: to(team.outsider) }]);
    expect(await decisions()).toEqual({ user: "allowed by table", outsider: "refused by table" });
    await setPolicy([{ access: "deny", action: ["start"] }]);
    expect(await decisions()).toEqual({ user: "refused by policy", outsider: "refused by table" });
    expect((await explain(team.user)).policy).toMatchObject({ source_id: id, action: "start", access: "deny" });
  });

  test("follow policies for groups", async () => {
    await setPolicy([{ access: "deny", action: ["start"], condition: { svc_groups: [team.groupId] } }]);
    expect(await decisions()).toEqual({ user: "allowed by table", outsider: "refused by table" });
    await team.admin.put(`/groups/${team.groupId}/svc_users/${team.user.membershipId}/add`, {});
    expect(await decisions()).toEqual({ user: "refused by policy", outsider: "refused by table" });
  });

  test("are no action of other objects", async () => {
    const { id: notebook } = await team.admin.post("/notebooks", { name: "n" });
    await team.admin
      .get(`/api/v2/access/explain?source_type=note&source_id=${notebook}&action=submit`)
      .refused(422, /action.*must be one of .* if source_type is note/);
  });

  test("need an allowed start as well if the account has closed_clusters", async () => {
    const { id: earlier } = await team.user.post("/commands", sql);
    await closeClusters();
    expect(await decisions()).toEqual({ user: "refused by closed_clusters", outsider: "refused by table" });
    await team.user.post("/commands", sql).refused(403, /feature closed_clusters/);
    await team.user.post(`/commands/${earlier}/rerun`, {}).refused(403, /feature closed_clusters/);
    await team.user
      .post("/commands", { ...sql, label: "default" })
      .refused(403, /feature closed_clusters.*Ask the owner of the cluster, if it has one, or a/);
    await team.admin.post("/commands", sql);
    await setPolicy([{ access: "allow", action: ["start"], condition: to(team.user, team.outsider) }]);
    expect(await decisions()).toEqual({ user: "allowed by policy", outsider: "refused by table" });
    await team.user.post(`/commands/${earlier}/rerun`, {});
    await team.user.post("/commands", { ...sql, label: "default" }).refused(403, /feature closed_clusters/);
    await setPolicy([{ access: "allow" }, { access: "deny", action: ["start"], condition: to(team.user) }]);
    expect(await decisions()).toEqual({ user: "refused by policy", outsider: "refused by table" });
  });

  test("are not refused with closed_clusters if their kind needs no cluster, as a refresh by Spark does", async () => {
    await closeClusters();
    const refresh = { command_type: "HiveCommand", template: "s3import", db_name: "d", hive_table: "t" };
    const { id: command } = await team.user.post("/commands", refresh);
    await team.admin.put("/api/v2/accounts", { account: { refresh_engine: "spark" } });
    await team.user.post("/commands", refresh).refused(403, /feature closed_clusters/);
    await team.user.post(`/commands/${command}/rerun`, {});
  });

  test("may be run by the owner of the cluster with closed_clusters", async () => {
    await team.admin.post("/roles", {
      name: "makers",
      policies: '[{"resource":"cluster","action":["create"],"access":"allow"}]',
    });
    await team.admin.post("/groups", { name: "makers", roles: "makers" });
    const owner = await given.member(team.admin, { groups: ["makers", "system-user"] });
    ({ id } = await owner.post("/api/v2/clusters", { labels: ["owned"], engine: { type: "local" } }));
    await closeClusters();
    await owner.post("/commands", { ...sql, label: "owned" });
    expect(await explain(owner)).toMatchObject({ allowed: true, decided_by: "owner" });
  });

  test("are refused to an owner of the cluster without the permission to submit", async () => {
    const owner = await roleHolder(given, team.admin, "cluster:create");
    ({ id } = await owner.post("/api/v2/clusters", { labels: ["owned"], engine: { type: "local" } }));
    await owner.post("/commands", { ...sql, label: "owned" }).refused(403, /command:create/);
    expect(await explain(owner)).toMatchObject({ allowed: false, decided_by: "table" });
  });

  test("start and submit are different actions", async () => {
    const submitters = '[{"resource":"command","action":["create"],"access":"allow"}]';
    await team.admin.post("/roles", { name: "submitters", policies: submitters });
    await team.admin.post("/groups", { name: "submitters", roles: "submitters" });
    const member = await given.member(team.admin, { groups: ["submitters"] });
    expect(await maySubmit(member)).toBe(true);
    expect(await explain(member)).toMatchObject({ allowed: true, decided_by: "table" });
    expect(await explain(member, "start")).toMatchObject({ allowed: false, decided_by: "table" });
  });
});

describe("the list of who may run commands", () => {
  test("has pages, and names users who are not active", async () => {
    const { admin, user, outsider } = team;
    await admin.post("/accounts/disable_svc_user", { svc_user_id: user.email });
    const path = `/api/v2/clusters/shared/access`;
    const first = await admin.get(`${path}?per_page=2`);
    expect(first.paging_info).toEqual({ previous_page: null, next_page: 2, per_page: 2 });
    const second = await admin.get(`${path}?per_page=2&page=2`);
    expect(second.paging_info).toEqual({ previous_page: 1, next_page: null, per_page: 2 });
    expect([...first.access, ...second.access]).toEqual([
      expect.objectContaining({ allowed: true, decided_by: "system-admin", policy: null, permission: null }),
      expect.objectContaining({
        user: { id: user.membershipId, email: user.email },
        allowed: false,
        decided_by: "state",
      }),
      expect.objectContaining({ user: { id: outsider.membershipId, email: outsider.email }, decided_by: "table" }),
    ]);
    expect((await admin.get(`${path}?page=9`)).access).toEqual([]);
  });

  test("is for those who may set the policy of the cluster", async () => {
    const path = `/api/v2/clusters/${id}/access`;
    const [known, never] = [
      await team.user.get(path).refused(403),
      await team.user.get("/api/v2/clusters/98765432/access").refused(403),
    ];
    expect(known.text).toBe(never.text);
    await setPolicy([{ access: "allow", action: ["manage"], condition: to(team.outsider) }]);
    expect((await team.outsider.get(path)).access).toHaveLength(3);
    await given.anonymous().get(path).refused(401);
    const other = await given.account();
    const [foreign, unknown] = [
      await other.get(path).refused(404),
      await other.get("/api/v2/clusters/98765432/access").refused(404),
    ];
    expect(withoutId(foreign, id)).toBe(withoutId(unknown, "98765432"));
    await team.admin.get(`${path}?per_page=101`).refused(422, /per_page/);
  });

  test("reads each policy from the database once, however many users have the role", async () => {
    const { admin, user, outsider } = team;
    const statement = { resource: "command", action: ["create"], access: "allow", padding: "x".repeat(60_000) };
    await admin.post("/roles", { name: "large", policies: [statement] });
    const { group } = await admin.post("/groups", { name: "large", roles: "large" });
    for (const { membershipId } of [user, outsider]) {
      await admin.put(`/groups/${group.id}/svc_users/${membershipId}/add`, {});
    }
    const receive = vi.spyOn(Socket.prototype, "push");
    onTestFinished(() => receive.mockRestore());
    const { access } = await admin.get(`/api/v2/clusters/${id}/access`);
    expect(access.filter(({ allowed }: { allowed: boolean }) => allowed)).toHaveLength(3);
    const bytes = receive.mock.calls.reduce((sum, [chunk]) => sum + (Buffer.isBuffer(chunk) ? chunk.length : 0), 0);
    expect(bytes).toBeGreaterThan(60_000);
    expect(bytes).toBeLessThan(100_000);
  });
});
