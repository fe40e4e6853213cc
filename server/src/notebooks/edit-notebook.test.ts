import { beforeAll, describe, expect, test } from "vitest";
import type { Client } from "../../test/support/client.ts";
import { replyDuring } from "../../test/support/during-change.ts";
import { deny, makePath, setFolderPolicy, users } from "../../test/support/folders.ts";
import { useSharedServer, type AccountClient } from "../../test/support/given.ts";

const given = useSharedServer();

const SQL = { language: "sql", text: "select 1" };

describe("PUT /notebooks/<id>", () => {
  test("changes only the given fields", async () => {
    const account = await given.account();
    const notebook = await account.post("/notebooks", { name: "a", label: "x", paragraphs: [SQL] });
    const renamed = await account.put(`/notebooks/${notebook.id}`, { name: "b" });
    expect(renamed).toEqual({ ...notebook, name: "b", updated_at: renamed.updated_at });
    const paragraphs = [{ language: "python", text: "1" }];
    const edited = await account.put(`/notebooks/${notebook.id}`, { paragraphs, label: "" });
    expect(edited).toEqual({ ...renamed, paragraphs, label: null, updated_at: edited.updated_at });
    expect(await account.get(`/notebooks/${notebook.id}`)).toEqual(edited);
  });

  test("refuses a stale edit, even within the same second", async () => {
    const account = await given.account();
    const read = await account.post("/notebooks", { name: "a" });
    const { updated_at: next } = await account.put(`/notebooks/${read.id}`, { ...read, name: "b" });
    expect(next).not.toBe(read.updated_at);
    await account
      .put(`/notebooks/${read.id}`, { ...read, name: "c" })
      .refused(409, /^updated_at is now .*: the notebook has changed/);
    const both = await Promise.all(
      ["d", "e"].map((name) => account.put(`/notebooks/${read.id}`, { name, updated_at: next }).reply()),
    );
    expect(new Set(both.map(({ status }) => status))).toEqual(new Set([200, 409]));
  });

  test("refuses a name that is taken in its folder, and another location", async () => {
    const account = await given.account();
    await account.post("/notebooks", { name: "a", location: "Common" });
    const { id } = await account.post("/notebooks", { name: "b", location: "Common" });
    await account.put(`/notebooks/${id}`, { name: "a" }).refused(409, /^name is taken/);
    const elsewhere = { location: `Users/${account.email}` };
    await account
      .put(`/notebooks/${id}`, elsewhere)
      .refused(422, /^location must be Common: use PUT notebooks\/\d+\/move/);
    await account.put(`/notebooks/${id}`, { location: "Common" });
  });
});

describe("PUT /notebooks/<id> that is refused", () => {
  let account: AccountClient;
  let notebook: { id: number };
  beforeAll(async () => {
    account = await given.account();
    notebook = await account.post("/notebooks", { name: "a", paragraphs: [SQL] });
  });

  test.each([
    [{ name: "a/b" }, /^name must not contain a slash/],
    [{ updated_at: "yesterday" }, /^updated_at must/],
    [{ note_type: "x" }, /^note_type must be one of/],
    [{ paragraphs: Array.from({ length: 2001 }, () => SQL) }, /^paragraphs must have at most 2000/],
    [
      { paragraphs: [{ language: "sql", text: "x".repeat(2 ** 20 + 1) }] },
      /^paragraphs\[0\]\.text must have at most 1 MiB/,
    ],
  ])("breaks the rule $1, and changes nothing", async (body, message) => {
    await account.put(`/notebooks/${notebook.id}`, body).refused(422, message);
    expect(await account.get(`/notebooks/${notebook.id}`)).toEqual(notebook);
  });
});

describe("a notebook that is moved by another request while it is used", () => {
  test.each([
    ["edited", (user: Client, path: string) => user.put(path, { name: "b" })],
    ["moved", (user: Client, path: string) => user.put(`${path}/move`, { location: "Common" })],
    ["deleted", (user: Client, path: string) => user.delete(path)],
    ["cloned", (user: Client, path: string) => user.put(`${path}/clone`)],
    [
      "published",
      (user: Client, path: string) =>
        user.post("/notebook_dashboards", { note_id: Number(path.split("/").at(-1)), name: "a" }),
    ],
  ])("is authorised by the policies of its new folder when it is %s", async (_kind, call) => {
    const admin = await given.account();
    const user = await given.member(admin, { groups: ["system-user"] });
    const closed = await makePath(admin, "Common", ["closed"]);
    await setFolderPolicy(admin, closed.location, [deny(["all"], users(user))]);
    const notebook = await admin.post("/notebooks", { name: "a", location: "Common" });
    const reply = await replyDuring(
      given,
      [
        ["select from note where id = $1 for update", [notebook.id]],
        ["update note set folder_id = $2 where id = $1", [notebook.id, closed.id]],
      ],
      call(user, `/notebooks/${notebook.id}`),
    );
    expect([reply.status, reply.text]).toEqual([
      403,
      expect.stringMatching(/policy of the folder denies (read|write)/),
    ]);
    expect(await admin.get(`/notebooks/${notebook.id}`)).toMatchObject({ name: "a", location: "Common/closed" });
  });
});
