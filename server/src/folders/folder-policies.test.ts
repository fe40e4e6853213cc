import { beforeAll, describe, expect, test } from "vitest";
import { useServer, type AccountClient, type MemberClient } from "../../test/support/given.ts";
import { sendAs } from "../../test/support/raw-request.ts";

const given = useServer();

const NOTES = { type: "notes" };

type Element = Record<string, unknown>;
const allow = (action: string[], condition?: Element): Element => ({
  access: "allow",
  action,
  ...(condition === undefined ? {} : { condition }),
});
const deny = (action: string[], condition?: Element): Element => ({ ...allow(action, condition), access: "deny" });
const users = (...members: MemberClient[]): Element => ({ svc_users: members.map(({ membershipId }) => membershipId) });

function setPolicy(client: AccountClient, location: string, policy: Element[], extra: Element = {}) {
  return client.put("/folders/policy", { location, ...NOTES, policy: JSON.stringify(policy), ...extra });
}

async function makePath(client: AccountClient, location: string, names: readonly string[]): Promise<number> {
  let at = location;
  let id = 0;
  for (const name of names) {
    ({ id } = (await client.post("/folders", { name, location: at, ...NOTES })).folder);
    at = `${at}/${name}`;
  }
  return id;
}

async function locationsIn(client: AccountClient, query = ""): Promise<string[]> {
  const { folders } = await client.get(`/folders?per_page=100&${query}`);
  return folders.map(({ location }: { location: string }) => location);
}

describe("PUT and GET /folders/policy", () => {
  test("answer the policy as an array, with location and type", async () => {
    const admin = await given.account();
    const member = await given.member(admin);
    const id = await makePath(admin, "Common", ["a"]);
    const policy = [allow(["read", "write"], users(member)), { access: "deny" }];
    const expected = {
      status: "success",
      source_id: id,
      source_type: "Folder",
      location: "Common/a",
      ...NOTES,
      policy,
    };
    expect(await setPolicy(admin, "Common/a", policy, { source_type: "Folder" })).toEqual(expected);
    expect(await admin.get("/folders/policy?location=Common/a&type=notes")).toEqual(expected);
    expect(await setPolicy(admin, "Common/a", [])).toEqual({ ...expected, policy: [] });
    const { audit_events: events } = await admin.get("/api/v2/audit_events");
    expect(events[0]).toMatchObject({ operation: "folder_policy_set", object: `folder/${id}`, outcome: "done" });
    const [stored] = await given.app.services.db.system.query<{ detail: unknown }>(
      "select detail from audit_event where account_id = $1 order by id desc limit 1",
      [admin.accountId],
    );
    expect(stored?.detail).toEqual({ before: policy, after: [] });
  });

  test("take the location of the parent and the name, or both spellings of the folder", async () => {
    const admin = await given.account();
    const id = await makePath(admin, "Common", ["a", "b"]);
    for (const named of [
      { location: "Common/a", name: "b" },
      { location: "Common/a/b", name: "b" },
      { location: "Common/a/b", folder_id: id },
      { location: "Common/a", name: "b", folder_id: String(id) },
      { location: undefined, folder_id: id },
    ]) {
      const reply = await setPolicy(admin, "", [allow(["read"])], named);
      expect(reply).toMatchObject({ source_id: id, location: "Common/a/b" });
    }
    await setPolicy(admin, "Common", [], { name: "b" }).refused(404);
    await setPolicy(admin, "Common/a", [], { folder_id: id }).refused(422, /^folder_id must be the id of the folder/);
    await setPolicy(admin, "Common/b", [], { folder_id: id, name: "b" }).refused(422, /^folder_id/);
    await makePath(admin, "Common/a/b", ["b"]);
    await setPolicy(admin, "Common/a/b", [], { name: "b" }).refused(
      422,
      /^name must be left out: both .*Common\/a\/b\/b/,
    );
  });

  test("work on the roots of both trees", async () => {
    const admin = await given.account();
    const member = await given.member(admin, { groups: ["system-user"] });
    const home = `Users/${member.email}`;
    for (const [location, type] of [
      ["Common", "notes"],
      ["Common", "notebook_dashboards"],
      [home, "notes"],
    ] as const) {
      const policy = [allow(["read"], users(member)), deny(["write"])];
      const reply = await setPolicy(admin, location, policy, { type });
      expect(reply).toMatchObject({ source_id: null, location, type, policy });
      const seen = await admin.get(`/folders/policy?type=${type}&location=${encodeURIComponent(location)}`);
      expect(seen).toEqual(reply);
    }
    await member
      .post("/folders", { name: "x", location: "Common", ...NOTES })
      .refused(403, /policy of the folder denies/);
    await member.post("/folders", { name: "x", location: "Common", type: "notebook_dashboards" }).refused(403);
    await setPolicy(admin, "Common", []);
    await member.post("/folders", { name: "x", location: "Common", ...NOTES });
  });

  test("the fields may come in a JSON body of the GET", async () => {
    const admin = await given.account();
    await makePath(admin, "Common", ["a"]);
    const body = JSON.stringify({ location: "Common/a", type: "notes", source_type: "Folder" });
    const reply = await sendAs(given.base, admin, { method: "GET", path: "/api/v1.2/folders/policy", body });
    expect(reply.body).toMatchObject({ status: "success", location: "Common/a", policy: [] });
  });

  test.each([
    [{ policy: "no json" }, /^policy must be the JSON text/],
    [{ policy: '[{"access":"allow","action":["update"]}]' }, /^policy\[0\]\.action must be .*read, write, manage, all/],
    [{ policy: '[{"access":"allow","action":["read"],"condition":{"svc_users":[987654321]}}]' }, /svc_users/],
    [{ policy: undefined }, /^policy is required/],
    [{ type: undefined }, /^type is required/],
    [{ type: "files" }, /^type must be one of/],
    [{ location: undefined }, /^location or folder_id is required/],
    [{ source_type: "note" }, /^source_type must be one of Folder/],
  ])("refuses what breaks the rule of $1 and stores nothing", async (change, message) => {
    const admin = await given.account();
    await makePath(admin, "Common", ["a"]);
    await setPolicy(admin, "Common/a", [allow(["read"])]);
    await setPolicy(admin, "Common/a", [], change).refused(422, message);
    const { policy } = await admin.get("/folders/policy?location=Common/a&type=notes");
    expect(policy).toEqual([allow(["read"])]);
  });

  test("are for those who may manage it", async () => {
    const admin = await given.account();
    const [user, manager, stranger] = [
      await given.member(admin, { groups: ["system-user"] }),
      await given.member(admin),
      await given.member(admin),
    ];
    await makePath(admin, "Common", ["a", "b"]);
    await setPolicy(user, "Common/a", [allow(["manage"], users(manager))]);
    expect((await setPolicy(manager, "Common/a/b", [allow(["write"])])).status).toBe("success");
    await manager.get("/folders/policy?location=Common/a&type=notes");
    await manager.get("/folders?location=Common/a").refused(403);
    for (const path of ["Common/a", "Common/absent"]) {
      await setPolicy(stranger, path, []).refused(403, /system-user or system-admin/);
      await stranger.get(`/folders/policy?location=${path}&type=notes`).refused(403);
    }
    await setPolicy(admin, "Common/a", [deny(["manage"], users(user))]);
    await setPolicy(user, "Common/a", []).refused(403, /denies manage/);
    await setPolicy(user, "Common/a/b", []).refused(403, /denies manage/);
    await user.get("/folders/policy?location=Common/a&type=notes");
  });

  test("a member can always undo the policy of their own home, if the table lets them set policies", async () => {
    const admin = await given.account();
    const member = await given.member(admin, { groups: ["system-user"] });
    const home = `Users/${member.email}`;
    await setPolicy(member, home, [{ access: "deny" }]);
    await member.post("/folders", { name: "x", location: home, ...NOTES }).refused(403);
    await setPolicy(member, home, []);
    await member.post("/folders", { name: "x", location: home, ...NOTES });
    const stranger = await given.member(admin);
    await setPolicy(stranger, `Users/${stranger.email}`, []).refused(403);
    await stranger.post("/folders", { name: "x", ...NOTES }).refused(403);
  });
});

describe("the policy of a folder", () => {
  test("decides about every operation, for somebody without any row of the table", async () => {
    const admin = await given.account();
    const reader = await given.member(admin);
    const writer = await given.member(admin);
    const id = await makePath(admin, "Common", ["a", "b"]);
    await makePath(admin, "Common", ["other"]);
    await setPolicy(admin, "Common/a", [allow(["read"], users(reader)), allow(["all"], users(writer))]);
    expect((await reader.get(`/folders/${id}`)).location).toBe("Common/a/b");
    expect(await locationsIn(reader)).toEqual(["Common/a", "Common/a/b"]);
    expect(await locationsIn(reader, "location=Common")).toEqual(["Common/a"]);
    // Unknown places look like places with nothing to read.
    expect(await locationsIn(reader, "location=Common/other")).toEqual([]);
    expect(await locationsIn(reader, "location=Common/absent")).toEqual([]);
    await reader.post("/folders", { name: "c", location: "Common/a", ...NOTES }).refused(403, /it needs membership/);
    await reader.put("/folders/rename", { folder_id: id, name: "c", ...NOTES }).refused(403);
    await reader.delete(`/folders/${id}`).refused(403);
    await writer.post("/folders", { name: "c", location: "Common/a", ...NOTES });
    await writer.put("/folders/rename", { location: "Common/a/c", name: "d", ...NOTES });
    await writer.put("/folders/move", {
      location: "Common/a/d",
      destination_location: "Common/a/b",
      ...NOTES,
    });
    const out = { location: "Common/a/b/d", destination_location: "Common", ...NOTES };
    await writer.put("/folders/move", out).refused(403, /it needs membership/);
    await writer.put("/folders/move", { ...out, destination_location: "Common/other" }).refused(403);
    await writer.delete(`/folders/${id}?recursive=true`);
    await writer.delete(`/folders/987654321`).refused(403);
    await setPolicy(writer, "Common/a", []).refused(403);
  });

  test("keeps out somebody whom the table admits", async () => {
    const admin = await given.account();
    const user = await given.member(admin, { groups: ["system-user"] });
    const id = await makePath(admin, "Common", ["a", "b"]);
    await makePath(admin, "Common", ["other"]);
    await setPolicy(admin, "Common/a", [deny(["all"], users(user))]);
    await user.get(`/folders/${id}`).refused(403, /policy of the folder denies read/);
    await user.get(`/folders/987654321`).refused(404);
    await user.delete(`/folders/${id}`).refused(403, /denies write/);
    await user.put("/folders/rename", { folder_id: id, name: "c", ...NOTES }).refused(403, /denies write/);
    await user.post("/folders", { name: "c", location: "Common/a/b", ...NOTES }).refused(403, /denies write/);
    const move = { location: "Common/other", destination_location: "Common/a", ...NOTES };
    await user.put("/folders/move", move).refused(403, /denies write/);
    expect(await locationsIn(user)).toEqual(["Common/other"]);
    expect(await locationsIn(user, "location=Common")).toEqual(["Common/other"]);
    expect(await locationsIn(user, "location=Common/a")).toEqual([]);
    expect(await locationsIn(admin)).toEqual(["Common/a", "Common/a/b", "Common/other"]);
    await admin.delete(`/folders/${id}`);
  });

  test("the nearest one decides, and a folder's owner is always allowed", async () => {
    const admin = await given.account();
    const user = await given.member(admin, { groups: ["system-user"] });
    const group = (await admin.post("/groups", { name: "team", members: user.email })).group;
    await makePath(admin, "Common", ["a", "b", "c"]);
    const own = await makePath(user, "Common/a/b", ["own"]);
    const inOwn = await makePath(admin, "Common/a/b/own", ["below"]);
    await setPolicy(admin, "Common", [deny(["read"], users(user))]);
    expect(await locationsIn(user)).toEqual(["Common/a/b/own"]);
    await setPolicy(admin, "Common/a/b", [allow(["read"], { svc_groups: [group.id] })]);
    expect(await locationsIn(user)).toEqual(["Common/a/b", "Common/a/b/c", "Common/a/b/own", "Common/a/b/own/below"]);
    await setPolicy(admin, "Common/a/b/own", [{ access: "deny" }]);
    expect(await locationsIn(user)).toEqual(["Common/a/b", "Common/a/b/c", "Common/a/b/own"]);
    expect(await locationsIn(user, "location=Common/a/b")).toEqual(["Common/a/b/c", "Common/a/b/own"]);
    expect(await locationsIn(user, "location=Common/a/b/own")).toEqual([]);
    await user.get(`/folders/${own}`);
    await user.get(`/folders/${inOwn}`).refused(403);
    await admin.put(`/groups/${group.id}/svc_users/${user.membershipId}/remove`, {});
    expect(await locationsIn(user)).toEqual(["Common/a/b/own"]);
  });

  test("follows the folder when it moves", async () => {
    const admin = await given.account();
    const user = await given.member(admin, { groups: ["system-user"] });
    await makePath(admin, "Common", ["closed"]);
    await makePath(admin, "Common", ["a", "b"]);
    await setPolicy(admin, "Common/closed", [deny(["read"], users(user))]);
    await admin.put("/folders/move", { location: "Common/a", destination_location: "Common/closed", ...NOTES });
    expect(await locationsIn(user)).toEqual([]);
    await admin.put("/folders/move", { location: "Common/closed/a/b", destination_location: "Common", ...NOTES });
    expect(await locationsIn(user)).toEqual(["Common/b"]);
  });

  test("below a deleted folder keeps those from deleting whom it denies it", async () => {
    const admin = await given.account();
    const user = await given.member(admin, { groups: ["system-user"] });
    const { id: top } = (await admin.post("/folders", { name: "top", location: "Common", ...NOTES })).folder;
    const inner = await makePath(admin, "Common/top", ["x", "y"]);
    await setPolicy(admin, "Common/top/x/y", [deny(["write"], users(user))]);
    await user.delete(`/folders/${top}?recursive=true`).refused(403, /policy of a folder or notebook below denies/);
    await setPolicy(admin, "Common/top/x/y", [allow(["write"]), deny(["read"], users(user))]);
    await storeNote(admin, inner, user, "deny");
    await user.delete(`/folders/${top}?recursive=true`).refused(403, /policy of a folder or notebook below denies/);
    expect(await locationsIn(admin)).toHaveLength(3);
    await given.app.services.db.system.query("update note set owner_id = $1 where folder_id = $2", [
      user.membershipId,
      inner,
    ]);
    await user.delete(`/folders/${top}?recursive=true`);
    expect(await locationsIn(admin)).toEqual([]);
  });
});

describe("the home of another member", () => {
  let admin: AccountClient;
  let owner: MemberClient;
  let other: MemberClient;
  let home = "";

  beforeAll(async () => {
    admin = await given.account();
    owner = await given.member(admin, { groups: ["system-user"] });
    other = await given.member(admin, { groups: ["system-user"] });
    home = `Users/${owner.email}`;
  });

  test("can be read by the table, but written only by a verdict or a system-admin", async () => {
    const id = await makePath(owner, home, ["a", "b"]);
    expect((await other.get(`/folders/${id}`)).location).toBe(`${home}/a/b`);
    const refused = /needs a policy that allows it/;
    await other.post("/folders", { name: "x", location: home, ...NOTES }).refused(403, refused);
    await other.post("/folders", { name: "x", location: `${home}/a`, ...NOTES }).refused(403, refused);
    await other.put("/folders/rename", { folder_id: id, name: "x", ...NOTES }).refused(403, refused);
    await other.delete(`/folders/${id}`).refused(403, refused);
    await setPolicy(other, `${home}/a`, []).refused(403, refused);
    await other.post("/folders", { name: "mine", ...NOTES });
    const move = { location: `Users/${other.email}/mine`, destination_location: `${home}/a`, ...NOTES };
    await other.put("/folders/move", move).refused(403, refused);
    await setPolicy(owner, `${home}/a`, [allow(["write"], users(other))]);
    expect((await other.put("/folders/move", move)).folder.location).toBe(`${home}/a/mine`);
    await other.post("/folders", { name: "x", location: home, ...NOTES }).refused(403, refused);
    await admin.post("/folders", { name: "by-admin", location: home, ...NOTES });
  });
});

describe("a list of many folders", () => {
  test("shows the few readable ones in pages, without a gap", async () => {
    const admin = await given.account();
    const user = await given.member(admin, { groups: ["system-user"] });
    const guest = await given.member(admin);
    await fillTree(admin, 3000);
    await setPolicy(admin, "Common", [deny(["read"], users(user))]);
    const names = [7, 8, 9, 500, 1500, 2500, 2999];
    for (const name of names) await setPolicy(admin, `Common/f${name}`, [allow(["read"], users(user, guest))]);
    for (const client of [user, guest]) {
      const expected = names.map((name) => `Common/f${name}`);
      expect(await locationsIn(client)).toEqual(expected);
      expect(await pagesOf(client, "", 2)).toEqual(expected);
      expect(await pagesOf(client, "location=Common&", 3)).toEqual(expected.toSorted());
    }
    await setPolicy(admin, "Common", []);
    await setPolicy(admin, "Common/f2", [deny(["read"], users(user))]);
    const { folders, paging_info: info } = await user.get("/folders?per_page=3");
    expect(folders.map(({ name }: { name: string }) => name)).toEqual(["f1", "f3", "f4"]);
    expect(info.next_page).toBe(2);
    const last = await user.get("/folders?per_page=100&page=30");
    expect(last.folders).toHaveLength(99);
    expect(last.paging_info.next_page).toBeNull();
    expect((await user.get("/folders?per_page=100&page=31")).folders).toEqual([]);
  });
});

async function pagesOf(client: AccountClient, query: string, perPage: number): Promise<string[]> {
  const all: string[] = [];
  for (let page: number | null = 1; page !== null;) {
    const { folders, paging_info: info } = await client.get(`/folders?${query}per_page=${perPage}&page=${page}`);
    all.push(...folders.map(({ location }: { location: string }) => location));
    page = info.next_page;
  }
  return all;
}

async function fillTree({ accountId }: AccountClient, count: number): Promise<void> {
  await given.app.services.db.system.query(
    "insert into folder (account_id, type, name) select $1, 'notes', 'f' || n from generate_series(1, $2) n order by n",
    [accountId, count],
  );
}

async function storeNote(account: AccountClient, folderId: number, user: MemberClient, access: "deny"): Promise<void> {
  await given.app.services.db.system.query(
    `with n as (insert into note (account_id, folder_id, name, note_type, has_policy)
                values ($1, $2, 'n', 'x', true) returning id),
          p as (insert into object_policy (account_id, source_type, source_id, elements)
                select $1, 'note', id, $4 from n returning source_id)
     insert into policy_rule (account_id, source_type, source_id, kind, subject_id, action, weight)
     select $1, 'note', source_id, 2, $3, 'delete', 11 from p`,
    [
      account.accountId,
      folderId,
      user.membershipId,
      JSON.stringify([{ access, action: ["delete"], users: [user.membershipId] }]),
    ],
  );
}
