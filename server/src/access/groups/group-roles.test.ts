import { describe, expect, test } from "vitest";
import { useSharedServer, type AccountClient, type MemberClient } from "../../../test/support/given.ts";

const given = useSharedServer();
const UNKNOWN = 987_654_321;

function policies(...statements: [resource: string, action: string, access?: string][]): string {
  return JSON.stringify(
    statements.map(([resource, action, access = "allow"]) => ({ resource, action: [action], access })),
  );
}

async function roleNamesOf(account: AccountClient, groupId: number): Promise<string[]> {
  return (await account.get(`/groups/${groupId}/roles`)).roles.map(({ name }: { name: string }) => name);
}

/** A member whose only permissions come from a role with these policies. */
async function memberWith(account: AccountClient, name: string, text: string): Promise<MemberClient> {
  const member = await given.member(account);
  await account.post("/roles", { name, policies: text });
  await account.post("/groups", { name, members: member.email, roles: name });
  return member;
}

describe("PUT groups/<id>/roles/<role>/assign and /unassign", () => {
  test("accept the role by id and by name, and repeating changes nothing", async () => {
    const account = await given.account();
    const { group } = await account.post("/groups", { name: "g" });
    const { roles: role } = await account.post("/roles", { name: "run it" });
    for (const reference of ["run%20it", role.id]) {
      expect(await account.put(`/groups/${group.id}/roles/${reference}/assign`, {})).toEqual({ status: "done" });
      expect(await roleNamesOf(account, group.id)).toEqual(["run it"]);
    }
    for (const reference of [role.id, "run%20it"]) {
      expect(await account.put(`/groups/${group.id}/roles/${reference}/unassign`)).toEqual({ status: "done" });
      expect(await roleNamesOf(account, group.id)).toEqual([]);
    }
  });

  test("a role applies from the next request on, and a deny overrides an allow", async () => {
    const account = await given.account();
    const member = await given.member(account, { groups: ["system-user"] });
    const { id: everyone } = await account.get("/groups/everyone");
    await account.post("/roles", { name: "no whitelist", policies: policies(["account", "update", "deny"]) });
    await member.get("/whitelist_ip");
    await account.put(`/groups/${everyone}/roles/no whitelist/assign`);
    await member.get("/whitelist_ip").refused(403);
    await account.get("/whitelist_ip");
    await account.put(`/groups/${everyone}/roles/no whitelist/unassign`);
    await member.get("/whitelist_ip");
  });

  test("an unknown group or role and one of another account get the same 404", async () => {
    const [account, other] = [await given.account(), await given.account()];
    const { group } = await account.post("/groups", { name: "g" });
    const { id: foreignGroup } = await other.get("/groups/system-user");
    const { roles: foreignRole } = await other.post("/roles", { name: "theirs" });
    for (const [path, message] of [
      [`${UNKNOWN}/roles/system-user`, `Group ${UNKNOWN} does not exist.`],
      [`${foreignGroup}/roles/system-user`, `Group ${foreignGroup} does not exist.`],
      [`g/roles/system-user`, "Group g does not exist."],
      [`${group.id}/roles/${foreignRole.id}`, `Role ${foreignRole.id} does not exist.`],
      [`${group.id}/roles/theirs`, "Role theirs does not exist."],
      [`${group.id}/roles/${UNKNOWN}`, `Role ${UNKNOWN} does not exist.`],
    ]) {
      for (const verb of ["assign", "unassign"]) {
        const { body } = await account.put(`/groups/${path}/${verb}`, {}).refused(404);
        expect(body).toEqual({ error: { error_code: 404, error_message: message } });
      }
    }
  });

  test("assigning a role while it is deleted ends as done or 404, never with a deleted role", async () => {
    const account = await given.account();
    const { group } = await account.post("/groups", { name: "g" });
    for (let n = 0; n < 5; n += 1) {
      const { roles: role } = await account.post("/roles", { name: `r${n}` });
      const [deleted, assigned] = await Promise.all([
        account.delete(`/roles/${role.id}`).reply(),
        account.put(`/groups/${group.id}/roles/${role.id}/assign`).reply(),
      ]);
      expect(deleted.status).toBe(200);
      expect([200, 404]).toContain(assigned.status);
    }
    expect(await roleNamesOf(account, group.id)).toEqual([]);
  });
});

describe("permissions", () => {
  test("a system-user can assign and unassign roles, and change nothing else about groups and roles", async () => {
    const account = await given.account();
    const user = await given.member(account, { groups: ["system-user"] });
    const { group } = await account.post("/groups", { name: "g" });
    for (const role of ["dashboard-user", "system-user"]) {
      await user.put(`/groups/${group.id}/roles/${role}/assign`, {});
      await user.put(`/groups/${group.id}/roles/${role}/unassign`, {});
    }
    await user.get("/groups").refused(403, /group:read/);
    await user.put(`/groups/${group.id}`, { members: user.email }).refused(403, /group:update/);
    await user.put(`/groups/${group.id}/svc_users/${user.membershipId}/add`).refused(403);
    await user.post("/roles", { name: "r" }).refused(403, /role:create/);
  });

  test("a role on groups and roles allows exactly the actions it lists, to its holders only", async () => {
    const account = await given.account();
    const clerk = await memberWith(account, "clerk", policies(["group", "all"], ["role", "read"]));
    const friend = await given.member(account);
    const { group } = await clerk.post("/groups", { name: "g", members: friend.email, roles: "dashboard-user" });
    await clerk.put(`/groups/${group.id}/svc_users/${clerk.membershipId}/add`);
    await clerk.get("/roles");
    await clerk.post("/roles", { name: "r" }).refused(403);
    await clerk.delete(`/groups/${group.id}`);
    await friend.get("/groups").refused(403);
  });
});

describe("users cannot grant privileges over access that they do not have", () => {
  test("a system-user cannot assign the admin role, nor one that edits groups, roles or users", async () => {
    const account = await given.account();
    const user = await given.member(account, { groups: ["system-user"] });
    const { id: everyone } = await account.get("/groups/everyone");
    await account.post("/roles", { name: "editor", policies: policies(["role", "update"]) });
    await user.put(`/groups/${everyone}/roles/system-admin/assign`).refused(403, /privilege/);
    await user.put(`/groups/${everyone}/roles/editor/assign`).refused(403, /privilege/);
    expect(await roleNamesOf(account, everyone)).toEqual(["everyone"]);
    await account.put(`/groups/${everyone}/roles/editor/assign`);
  });

  test("a user who can edit groups cannot join the admins or a group with more privileges", async () => {
    const account = await given.account();
    const clerk = await memberWith(account, "clerk", policies(["group", "all"]));
    const { id: admins } = await account.get("/groups/system-admin");
    const { group: mighty } = await account.post("/groups", { name: "mighty", roles: "system-admin" });
    for (const id of [admins, mighty.id]) {
      await clerk.put(`/groups/${id}/svc_users/${clerk.membershipId}/add`).refused(403);
      await clerk.put(`/groups/${id}`, { members: clerk.email }).refused(403);
      await clerk.post(`/groups/${id}/duplicate`, { name: "copy" }).refused(403);
    }
    await clerk.post("/groups", { name: "own", members: clerk.email, roles: "system-admin" }).refused(403);
    await clerk.get("/groups/own").refused(404);
    await clerk.get("/groups/copy").refused(404);
    await clerk.post("/roles", { name: "r" }).refused(403);
  });

  test("a user with a role for everything still cannot change the group of admins", async () => {
    const account = await given.account();
    const deputy = await memberWith(account, "deputy", policies(["all", "all"]));
    const { id: admins } = await account.get("/groups/system-admin");
    await deputy.put(`/groups/${admins}/svc_users/${deputy.membershipId}/add`).refused(403, /system-admins/);
    await deputy.put(`/groups/${admins}/svc_users/${account.email}/remove`).refused(403, /system-admins/);
    await deputy.put(`/groups/${admins}/roles/dashboard-user/assign`).refused(403, /system-admins/);
    await deputy.post("/groups", { name: "own", roles: "system-admin" });
  });

  test("a user who can edit roles cannot add privileges to a role that they lack", async () => {
    const account = await given.account();
    const author = await memberWith(account, "author", policies(["role", "all"]));
    const { roles: role } = await author.post("/roles", { name: "fine", policies: policies(["datastore", "create"]) });
    await author.put(`/roles/${role.id}`, { policies: policies(["role", "update"]) });
    const { id: own } = await author.get("/roles/author");
    await author.put(`/roles/${own}`, { policies: policies(["all", "all"]) }).refused(403, /privilege/);
    await author.post("/roles", { name: "r", policies: policies(["group", "update"]) }).refused(403, /privilege/);
    const { id: admin } = await author.get("/roles/system-admin");
    await author.post(`/roles/${admin}/duplicate`, { name: "copy" }).refused(403, /privilege/);
    expect((await account.get("/roles?per_page=100")).roles).toHaveLength(6);
  });

  test("users cannot remove a deny of a privilege over access from themselves", async () => {
    const account = await given.account();
    const deputy = await memberWith(account, "deputy", policies(["all", "all"]));
    const { roles: curb } = await account.post("/roles", {
      name: "curb",
      policies: policies(["group", "create", "deny"]),
    });
    const { group } = await account.post("/groups", { name: "curbed", roles: "curb", members: deputy.email });
    await deputy.put(`/groups/${group.id}/roles/curb/unassign`).refused(403, /privilege/);
    await deputy.put(`/groups/${group.id}`, { removed_roles: "curb" }).refused(403, /privilege/);
    await deputy.put(`/groups/${group.id}/svc_users/${deputy.membershipId}/remove`).refused(403, /privilege/);
    await deputy.delete(`/groups/${group.id}`).refused(403, /privilege/);
    await deputy.delete(`/roles/${curb.id}`).refused(403, /privilege/);
    await deputy.put(`/roles/${curb.id}`, { policies: "[]" }).refused(403, /privilege/);
    await deputy.post("/groups", { name: "g" }).refused(403);

    await deputy.put(`/roles/${curb.id}`, { policies: policies(["group", "create", "deny"], ["app", "all"]) });
    await account.put(`/roles/${curb.id}`, { policies: policies(["datastore", "create", "deny"]) });
    await deputy.put(`/groups/${group.id}/roles/curb/unassign`);
    await deputy.delete(`/roles/${curb.id}`);
    await deputy.delete(`/groups/${group.id}`);
  });

  test("the refusal is audited as a denial", async () => {
    const account = await given.account();
    const user = await given.member(account, { groups: ["system-user"] });
    const { id } = await account.get("/groups/everyone");
    await user.put(`/groups/${id}/roles/system-admin/assign`).refused(403);
    await expect
      .poll(async () => (await account.get("/api/v2/audit_events")).audit_events)
      .toContainEqual(
        expect.objectContaining({ operation: "group_role_assign", outcome: "denied", email: user.email }),
      );
  });
});

test("every change has an audit row with the changed object", async () => {
  const account = await given.account();
  const { group } = await account.post("/groups", { name: "g" });
  const { roles: role } = await account.post("/roles", { name: "r" });
  await account.put(`/groups/${group.id}/roles/r/assign`);
  const { audit_events: events } = await account.get("/api/v2/audit_events");
  expect(events.map(({ operation, object }: Record<string, unknown>) => [operation, object])).toEqual([
    ["group_role_assign", `group/${group.id}/role/${role.id}`],
    ["role_create", `role/${role.id}`],
    ["group_create", `group/${group.id}`],
  ]);
});
