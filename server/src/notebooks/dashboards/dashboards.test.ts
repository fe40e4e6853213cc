import { beforeEach, describe, expect, test } from "vitest";
import type { Client } from "../../../test/support/client.ts";
import { replyDuring } from "../../../test/support/during-change.ts";
import { useSharedServer, type AccountClient, type MemberClient } from "../../../test/support/given.ts";
import { pythonFile } from "../../../test/support/ipynb-files.ts";
import { withoutId } from "../../../test/support/without-id.ts";

const given = useSharedServer();

let admin: AccountClient;
let user: MemberClient;
let reader: MemberClient;
let notebookId: number;

beforeEach(async () => {
  admin = await given.account();
  user = await given.member(admin, { groups: ["system-user"] });
  reader = await given.member(admin, { groups: ["dashboard-user"] });
  ({ id: notebookId } = await user.post("/notebooks/import", {
    name: "a",
    location: "Common",
    notebook: pythonFile(),
  }));
});

const publish = (client: Client, name = "sales"): Promise<{ id: number; updated_at: string }> =>
  Promise.resolve(client.post("/notebook_dashboards", { note_id: notebookId, name, location: "Common" }));

async function listed(client: Client): Promise<number[]> {
  const { notebook_dashboards: shown } = await client.get("/notebook_dashboards");
  return shown.map(({ id }: { id: number }) => id);
}

function setFolderPolicy(location: string, elements: readonly unknown[]): Promise<unknown> {
  const policy = JSON.stringify(elements);
  return Promise.resolve(admin.put("/folders/policy", { location, type: "notebook_dashboards", policy }));
}

describe("a dashboard", () => {
  test("is a copy of the notebook, with its outputs, until it is published again", async () => {
    const created = await publish(user);
    expect(created).toEqual({
      id: expect.any(Number),
      name: "sales",
      location: "Common",
      note_id: notebookId,
      user_id: expect.any(Number),
      created_at: expect.stringMatching(/Z$/),
      updated_at: expect.stringMatching(/Z$/),
    });
    const first = await reader.get(`/notebook_dashboards/${created.id}`);
    expect(first).toMatchObject(created);
    const outputs = pythonFile().cells.map((cell) => cell.outputs ?? []);
    expect(first.paragraphs.map((paragraph: { outputs: unknown }) => paragraph.outputs)).toEqual(outputs);
    expect(first.paragraphs[2]).toEqual({ language: "sql", text: "select 1", outputs: [] });
    await user.put(`/notebooks/${notebookId}`, { paragraphs: [{ language: "markdown", text: "new" }] });
    expect(await reader.get(`/notebook_dashboards/${created.id}`)).toEqual(first);
    expect(await user.put(`/notebook_dashboards/${created.id}/publish`)).toMatchObject({ id: created.id });
    const second = await reader.get(`/notebook_dashboards/${created.id}`);
    expect(second.paragraphs).toEqual([{ language: "markdown", text: "new", outputs: [] }]);
  });

  test("of a notebook that was not imported has no outputs", async () => {
    const paragraphs = [{ language: "sql", text: "select 1" }];
    const { id } = await user.post("/notebooks", { name: "plain", paragraphs });
    const dashboard = await user.post("/notebook_dashboards", { note_id: id, name: "plain" });
    expect(dashboard.location).toBe(`Users/${user.email}`);
    expect((await user.get(`/notebook_dashboards/${dashboard.id}`)).paragraphs).toEqual([
      { language: "sql", text: "select 1", outputs: [] },
    ]);
  });

  test("stays when its notebook is deleted, but cannot be published again", async () => {
    const { id } = await publish(user);
    await user.delete(`/notebooks/${notebookId}`);
    expect(await reader.get(`/notebook_dashboards/${id}`)).toMatchObject({ note_id: null, name: "sales" });
    await user.put(`/notebook_dashboards/${id}/publish`).refused(422, /^note_id names a notebook that was deleted/);
  });

  test("is 404 if it is deleted while it is published again", async () => {
    const { id } = await publish(user);
    const deletion = ["delete from dashboard where id = $1", [id]] as const;
    const reply = await replyDuring(given, [deletion], user.put(`/notebook_dashboards/${id}/publish`));
    expect(reply.status, reply.text).toBe(404);
  });

  test("can be deleted, and its notebook stays", async () => {
    const { id } = await publish(user);
    expect(await user.delete(`/notebook_dashboards/${id}`)).toEqual({ status: "deleted" });
    await user.get(`/notebook_dashboards/${id}`).refused(404);
    await user.delete(`/notebook_dashboards/${id}`).refused(404);
    await user.get(`/notebooks/${notebookId}`);
  });

  test("is listed by folder, in pages, without its content", async () => {
    await admin.post("/folders", { name: "f", location: "Common", type: "notebook_dashboards" });
    const body = { note_id: notebookId, name: "below", location: "Common/f" };
    const { id: below } = await user.post("/notebook_dashboards", body);
    const { id } = await publish(user);
    const { notebook_dashboards: shown, paging_info: paging } = await reader.get("/notebook_dashboards?per_page=1");
    expect(shown).toEqual([expect.objectContaining({ id, location: "Common" })]);
    expect(shown[0]).not.toHaveProperty("paragraphs");
    expect(paging.next_page).toBe(2);
    expect(await listed(reader)).toEqual([id, below]);
    const inFolder = await reader.get("/notebook_dashboards?location=Common/f");
    expect(inFolder.notebook_dashboards).toMatchObject([{ id: below, location: "Common/f" }]);
  });
});

describe("POST /notebook_dashboards refuses", () => {
  test.each([
    [{ note_id: undefined }, 422, /^note_id is required/],
    [{ note_id: "x" }, 422, /^note_id must be an integer/],
    [{ note_id: 987_654_321 }, 404, /^Notebook 987654321 does not exist/],
    [{ name: undefined }, 422, /^name is required/],
    [{ name: "a/b" }, 422, /^name must not contain a slash/],
    [{ location: "x" }, 422, /^location must start with/],
    [{ location: "Common/absent" }, 404, /^Folder Common\/absent does not exist in the tree of dashboards/],
  ])("%j", async (body, status, message) => {
    await user
      .post("/notebook_dashboards", { note_id: notebookId, name: "a", location: "Common", ...body })
      .refused(status, message);
    expect(await listed(user)).toEqual([]);
  });

  test("a name that is taken in its folder", async () => {
    await publish(user);
    await user
      .post("/notebook_dashboards", { note_id: notebookId, name: "sales", location: "Common" })
      .refused(409, /^name is taken: Common has a dashboard named sales/);
  });

  test("a notebook that the caller may not edit", async () => {
    const policy = JSON.stringify([{ access: "deny", action: ["update"] }]);
    await admin.put("/object_policy/policy", { source_type: "note", source_id: notebookId, policy });
    const other = await given.member(admin, { groups: ["system-user"] });
    const body = { note_id: notebookId, name: "a", location: "Common" };
    await other.post("/notebook_dashboards", body).refused(403, /the policy of the notebook denies update/);
    const { id } = await publish(user);
    await other.put(`/notebook_dashboards/${id}/publish`).refused(403, /the policy of the notebook denies update/);
  });
});

describe("a dashboard-user", () => {
  test("may read dashboards and nothing else", async () => {
    const { id } = await publish(user);
    expect(await listed(reader)).toEqual([id]);
    await reader.get(`/notebook_dashboards/${id}`);
    await reader.get("/notebook_dashboards/987654321").refused(404);
    await reader.post("/notebook_dashboards", { note_id: notebookId, name: "b" }).refused(403);
    await reader.put(`/notebook_dashboards/${id}/publish`).refused(403);
    await reader.delete(`/notebook_dashboards/${id}`).refused(403);
    for (const path of [
      "/notebooks",
      `/notebooks/${notebookId}`,
      "/folders?type=notebook_dashboards",
      "/commands",
      "/api/v2/clusters",
      "/groups",
    ]) {
      await reader.get(path).refused(403);
    }
  });
});

describe("the policy of a dashboard's folder", () => {
  test("decides reading and writing", async () => {
    const outsider = await given.member(admin);
    const { id } = await publish(user);
    const to = { condition: { svc_users: [outsider.membershipId] } };
    await setFolderPolicy("Common", [
      { access: "allow", action: ["read"], ...to },
      { access: "deny", action: ["read"], condition: { svc_users: [reader.membershipId] } },
    ]);
    await outsider.get(`/notebook_dashboards/${id}`);
    expect(await listed(outsider)).toEqual([id]);
    await outsider.delete(`/notebook_dashboards/${id}`).refused(403);
    await reader.get(`/notebook_dashboards/${id}`).refused(403, /the policy of the folder denies read/);
    expect(await listed(reader)).toEqual([]);
    await setFolderPolicy("Common", [{ access: "allow", action: ["write"], ...to }]);
    await outsider.get(`/notebook_dashboards/${id}`).refused(403);
    await outsider.put(`/notebook_dashboards/${id}/publish`).refused(403, /needs .* note:update/);
    await outsider.delete(`/notebook_dashboards/${id}`);
  });

  test("counts only in the tree of dashboards, and a dashboard has no policy of its own", async () => {
    const { id } = await publish(user);
    await admin.put("/folders/policy", { location: "Common", type: "notes", policy: '[{"access":"deny"}]' });
    await reader.get(`/notebook_dashboards/${id}`);
    await admin
      .put("/object_policy/policy", { source_type: "dashboard", source_id: id, policy: "[]" })
      .refused(422, /^source_type must be one of/);
  });

  test("does not keep out the member who published the dashboard", async () => {
    const { id } = await publish(user);
    await setFolderPolicy("Common", [{ access: "deny" }]);
    await user.get(`/notebook_dashboards/${id}`);
    expect(await listed(user)).toEqual([id]);
    await user.delete(`/notebook_dashboards/${id}`);
  });
});

describe("a dashboard of another account", () => {
  test("is 404 in every operation, like one that never existed", async () => {
    const { id } = await publish(user);
    const stranger = await given.account();
    for (const [method, path] of [
      ["GET", ""],
      ["DELETE", ""],
      ["PUT", "/publish"],
    ] as const) {
      const [foreign, unknown] = [
        await stranger.call(method, `/notebook_dashboards/${id}${path}`).refused(404),
        await stranger.call(method, `/notebook_dashboards/987654321${path}`).refused(404),
      ];
      expect(withoutId(foreign, id)).toBe(withoutId(unknown, "987654321"));
    }
    await stranger.post("/notebook_dashboards", { note_id: notebookId, name: "a" }).refused(404);
    expect(await listed(user)).toEqual([id]);
  });

  test("needs a token", async () => {
    await given.anonymous().get("/notebook_dashboards").refused(401);
  });
});
