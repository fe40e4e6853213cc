/** For every operation, the policy of the notebook decides first, then those of its folders, then the permissions. */
import { beforeEach, describe, expect, test } from "vitest";
import { useSharedServer, type MemberClient } from "../../test/support/given.ts";
import type { Call, Client } from "../../test/support/client.ts";
import { givenTeam, type Team } from "../../test/support/team.ts";

const given = useSharedServer();

let admin: Team["admin"];
let user: Team["user"];
let outsider: Team["outsider"];
let groupId: number;
let id: number;

beforeEach(async () => {
  ({ admin, user, outsider, groupId } = await givenTeam(given));
  await admin.post("/folders", { name: "outer", location: "Common", type: "notes" });
  await admin.post("/folders", { name: "inner", location: "Common/outer", type: "notes" });
  ({ id } = await admin.post("/notebooks", { name: "a", location: "Common/outer/inner" }));
});

type Element = Record<string, unknown>;
const to = (...members: MemberClient[]): Element => ({
  condition: { svc_users: members.map(({ membershipId }) => membershipId) },
});
const allow = (action: string[], condition: Element = {}): Element => ({ access: "allow", action, ...condition });
const deny = (action: string[], condition: Element = {}): Element => ({ access: "deny", action, ...condition });

function setPolicy(elements: readonly Element[], client: Client = admin): Call {
  const policy = JSON.stringify(elements);
  return client.put("/object_policy/policy", { source_type: "note", source_id: String(id), policy });
}

function setFolderPolicy(location: string, elements: readonly Element[], type = "notes"): Call {
  return admin.put("/folders/policy", { location, type, policy: JSON.stringify(elements) });
}

/** The operations on the notebook, with the action that each needs. */
const OPERATIONS: { name: string; action: string; folderAction: string; call: (client: Client) => Call }[] = [
  { name: "view", action: "read", folderAction: "read", call: (client) => client.get(`/notebooks/${id}`) },
  { name: "export", action: "read", folderAction: "read", call: (client) => client.get(`/notebooks/${id}/export`) },
  { name: "edit", action: "update", folderAction: "write", call: (client) => client.put(`/notebooks/${id}`, {}) },
  {
    name: "set the policy",
    action: "manage",
    folderAction: "manage",
    call: (client) =>
      client.put("/object_policy/policy", { source_type: "note", source_id: String(id), policy: "not JSON" }),
  },
  { name: "delete", action: "delete", folderAction: "write", call: (client) => client.delete(`/notebooks/${id}`) },
];

/** 422 comes from the operation itself, so the caller was admitted. */
async function isAdmitted(call: Call): Promise<boolean> {
  const { status, text } = await call.reply();
  expect([200, 403, 422], text).toContain(status);
  return status !== 403;
}

async function listed(client: Client): Promise<number[]> {
  const { status, body } = await client.get("/notebooks").reply();
  return status === 403 ? [] : body.notebooks.map((notebook: { id: number }) => notebook.id);
}

describe("a member without any permission", () => {
  test.each(OPERATIONS)("may $name if the policy allows $action, and nothing else", async ({ name, action }) => {
    await setPolicy([allow([action], to(outsider))]);
    for (const other of OPERATIONS) {
      expect(await isAdmitted(other.call(outsider)), `${name}: ${other.name}`).toBe(other.action === action);
    }
    expect(await listed(outsider)).toEqual(action === "read" ? [id] : []);
    await outsider.post("/notebooks", { name: "b" }).refused(403);
    await outsider.post("/notebooks", { name: "b", location: "Common/outer/inner" }).refused(403);
    if (action === "read") await outsider.put(`/notebooks/${id}/clone`).refused(403, /needs .* note:create/);
    for (const path of ["/commands", "/groups", "/api/v2/clusters", "/notebook_dashboards"])
      await outsider.get(path).refused(403);
  });

  test.each(OPERATIONS)("may $name if its folder's policy allows $folderAction", async ({ folderAction }) => {
    await setFolderPolicy("Common/outer", [allow([folderAction], to(outsider))]);
    for (const other of OPERATIONS) {
      expect(await isAdmitted(other.call(outsider)), other.name).toBe(other.folderAction === folderAction);
    }
    expect(await listed(outsider)).toEqual(folderAction === "read" ? [id] : []);
  });

  test("may create, import, clone and move where a folder's policy allows write, and nowhere else", async () => {
    await setFolderPolicy("Common/outer", [allow(["read", "write"], to(outsider))]);
    const location = "Common/outer";
    const created = await outsider.post("/notebooks", { name: "b", location });
    const notebook = { nbformat: 4, nbformat_minor: 5, metadata: {}, cells: [] };
    await outsider.post("/notebooks/import", { name: "c", location, notebook });
    await outsider.put(`/notebooks/${id}/clone`, { name: "d", location });
    await outsider.put(`/notebooks/${created.id}/move`, { location: "Common/outer/inner" });
    for (const elsewhere of ["Common", `Users/${outsider.email}`]) {
      await outsider.post("/notebooks", { name: "b", location: elsewhere }).refused(403);
      await outsider.post("/notebooks/import", { name: "c", location: elsewhere, notebook }).refused(403);
      await outsider.put(`/notebooks/${id}/clone`, { location: elsewhere }).refused(403);
      await outsider.put(`/notebooks/${created.id}/move`, { location: elsewhere }).refused(403);
    }
  });

  test.each([
    { by: "user", condition: () => to(outsider), isByGroup: false },
    { by: "group", condition: () => ({ condition: { svc_groups: [groupId] } }), isByGroup: true },
    {
      by: "both",
      condition: () => ({ condition: { svc_groups: [groupId], svc_users: [outsider.membershipId] } }),
      isByGroup: false,
    },
  ])("is admitted by $by, from the next request on", async ({ condition, isByGroup }) => {
    await admin.put(`/groups/${groupId}/svc_users/${outsider.membershipId}/add`, {});
    await outsider.get(`/notebooks/${id}`).refused(403);
    await setPolicy([allow(["all"], condition())]);
    await outsider.get(`/notebooks/${id}`);
    expect(await listed(outsider)).toEqual([id]);
    await admin.put(`/groups/${groupId}/svc_users/${outsider.membershipId}/remove`, {});
    expect(await isAdmitted(outsider.get(`/notebooks/${id}`))).toBe(!isByGroup);
    expect(await listed(outsider)).toEqual(isByGroup ? [] : [id]);
    await setPolicy([]);
    await outsider.get(`/notebooks/${id}`).refused(403);
  });

  test("does not learn which folders and notebooks exist", async () => {
    await setFolderPolicy("Common/outer", [allow(["read", "write"], to(outsider))]);
    await admin.put("/folders/policy", {
      location: "Common",
      type: "notebook_dashboards",
      policy: JSON.stringify([allow(["read", "write"], to(outsider))]),
    });
    await admin.post("/folders", { name: "other", location: "Common", type: "notes" });
    const { id: hidden } = await admin.post("/notebooks", { name: "hidden", location: "Common/other" });
    const publish = (notebookId: number) =>
      outsider.post("/notebook_dashboards", { note_id: notebookId, name: "b", location: "Common" });
    for (const [existing, absent] of [
      [outsider.get("/notebooks?location=Common/other"), outsider.get("/notebooks?location=Common/absent")],
      ...["clone", "move"].map((verb) =>
        ["Common/other", "Common/absent"].map((location) => outsider.put(`/notebooks/${id}/${verb}`, { location })),
      ),
      [publish(hidden), publish(987_654_321)],
    ]) {
      const [one, two] = [await existing?.reply(), await absent?.reply()];
      expect([one?.status, one?.text]).toEqual([two?.status, two?.text]);
      expect([200, 403]).toContain(one?.status);
    }
    const absent = "/notebook_dashboards?location=Common/absent";
    expect((await outsider.get(absent)).notebook_dashboards).toEqual([]);
  });

  test("gets the same refusal whether a notebook exists or not", async () => {
    const [known, unknown] = [
      await outsider.get(`/notebooks/${id}`).refused(403),
      await outsider.get("/notebooks/987654321").refused(403),
    ];
    expect(known.text).toBe(unknown.text);
  });
});

describe("a system-user", () => {
  test.each(OPERATIONS)(
    "may not $name if the policy denies $action to the user, a group of theirs or everyone",
    async ({ action, call }) => {
      await admin.put(`/groups/${groupId}/svc_users/${user.membershipId}/add`, {});
      const group = { condition: { svc_groups: [groupId] } };
      for (const policy of [[deny([action], to(user))], [deny([action], group)], [{ access: "deny" }]]) {
        await setPolicy(policy);
        await call(user).refused(403);
        expect(await listed(user)).toEqual(
          action === "read" || policy.length === 0 || !("action" in (policy[0] ?? {})) ? [] : [id],
        );
      }
    },
  );

  test("gets what an element for the action and the user allows, although others deny `all` or a group", async () => {
    await admin.put(`/groups/${groupId}/svc_users/${user.membershipId}/add`, {});
    const group = { condition: { svc_groups: [groupId] } };
    await setPolicy([deny(["all"], to(user)), allow(["read"], to(user)), deny(["read"], group)]);
    await user.get(`/notebooks/${id}`);
    await user.put(`/notebooks/${id}`, {}).refused(403, /the policy of the notebook denies update/);
    expect(await listed(user)).toEqual([id]);
  });

  test("is decided by the notebook's own policy first, then by that of the nearest folder", async () => {
    await setFolderPolicy("Common", [allow(["read"], to(user))]);
    await setFolderPolicy("Common/outer", [deny(["read"], to(user))]);
    await user.get(`/notebooks/${id}`).refused(403, /the policy of the folder denies read/);
    expect(await listed(user)).toEqual([]);
    await setFolderPolicy("Common/outer/inner", [allow(["read"], to(user))]);
    await user.get(`/notebooks/${id}`);
    expect(await listed(user)).toEqual([id]);
    await setPolicy([deny(["read"], to(user))]);
    await user.get(`/notebooks/${id}`).refused(403, /the policy of the notebook denies read/);
    expect(await listed(user)).toEqual([]);
  });

  test("needs update on a notebook and write on the destination to move it", async () => {
    await setFolderPolicy("Common/outer/inner", [deny(["write"], to(user))]);
    const own = await user.post("/notebooks", { name: "b" });
    await user.put(`/notebooks/${own.id}/move`, { location: "Common/outer/inner" }).refused(403, /denies write/);
    await user.post("/notebooks", { name: "b", location: "Common/outer/inner" }).refused(403, /denies write/);
    await user.put(`/notebooks/${id}/move`, { location: "Common" }).refused(403, /denies write/);
    await setPolicy([allow(["update"], to(user))]);
    await user.put(`/notebooks/${id}/move`, { location: "Common" });
  });

  test("is told that a folder does not exist only if they may create notebooks", async () => {
    await user.post("/notebooks", { name: "b", location: "Common/absent" }).refused(404);
    await outsider.post("/notebooks", { name: "b", location: "Common/absent" }).refused(403);
  });
});

describe("the owner and system-admins", () => {
  test("may do everything and see the notebook in lists, whatever the policies say", async () => {
    const own = await user.post("/notebooks", { name: "mine", location: "Common/outer/inner" });
    await setFolderPolicy("Common", [{ access: "deny" }]);
    ({ id } = own);
    await setPolicy([{ access: "deny" }]);
    const other = await given.member(admin, { groups: ["system-user"] });
    await other.get(`/notebooks/${id}`).refused(403);
    expect(await listed(other)).toEqual([]);
    expect(await listed(user)).toEqual([id]);
    for (const client of [user, admin]) {
      await client.get(`/notebooks/${id}`);
      await client.put(`/notebooks/${id}`, {});
    }
    expect(await setPolicy([], user)).toMatchObject({ status: "success", policy: [] });
    await user.delete(`/notebooks/${id}`);
  });
});

describe("a clone", () => {
  test("needs read on the original, belongs to the caller and has no policy", async () => {
    await setPolicy([deny(["read"], to(user))]);
    await user.put(`/notebooks/${id}/clone`).refused(403, /denies read/);
    await setPolicy([deny(["update", "delete"], to(user))]);
    const clone = await user.put(`/notebooks/${id}/clone`);
    await user.put(`/notebooks/${clone.id}`, { name: "own" });
    const { policy } = await admin.get(`/object_policy/policy?source_type=note&source_id=${clone.id}`);
    expect(policy).toEqual([]);
  });
});

test("when its folder is moved, a notebook gets the policies of the new parent", async () => {
  await admin.post("/folders", { name: "secret", location: "Common", type: "notes" });
  await setFolderPolicy("Common/secret", [{ access: "deny" }]);
  await user.get(`/notebooks/${id}`);
  await admin.put("/folders/move", { location: "Common/outer", destination_location: "Common/secret", type: "notes" });
  await user.get(`/notebooks/${id}`).refused(403);
  expect(await admin.get(`/notebooks/${id}`)).toMatchObject({ location: "Common/secret/outer/inner" });
});
