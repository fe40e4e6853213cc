import { beforeAll, describe, expect, test } from "vitest";
import {
  allow,
  deny,
  locationsIn,
  makePath,
  NOTEBOOK_FOLDERS,
  setFolderPolicy,
  users,
} from "../../test/support/folders.ts";
import { useSharedServer, type AccountClient, type MemberClient } from "../../test/support/given.ts";

const given = useSharedServer();

describe("the policy of a folder", () => {
  test("decides every operation for a member without any permission", async () => {
    const admin = await given.account();
    const reader = await given.member(admin);
    const writer = await given.member(admin);
    const { id } = await makePath(admin, "Common", ["a", "b"]);
    await makePath(admin, "Common", ["other"]);
    await setFolderPolicy(admin, "Common/a", [allow(["read"], users(reader)), allow(["all"], users(writer))]);
    expect((await reader.get(`/folders/${id}`)).location).toBe("Common/a/b");
    expect(await locationsIn(reader)).toEqual(["Common/a", "Common/a/b"]);
    expect(await locationsIn(reader, "location=Common")).toEqual(["Common/a"]);
    // A location that does not exist looks like one with nothing to read.
    expect(await locationsIn(reader, "location=Common/other")).toEqual([]);
    expect(await locationsIn(reader, "location=Common/absent")).toEqual([]);
    await reader
      .post("/folders", { name: "c", location: "Common/a", ...NOTEBOOK_FOLDERS })
      .refused(403, /it needs membership/);
    await reader.put("/folders/rename", { folder_id: id, name: "c", ...NOTEBOOK_FOLDERS }).refused(403);
    await reader.delete(`/folders/${id}`).refused(403);
    await writer.post("/folders", { name: "c", location: "Common/a", ...NOTEBOOK_FOLDERS });
    await writer.put("/folders/rename", { location: "Common/a/c", name: "d", ...NOTEBOOK_FOLDERS });
    await writer.put("/folders/move", {
      location: "Common/a/d",
      destination_location: "Common/a/b",
      ...NOTEBOOK_FOLDERS,
    });
    const out = { location: "Common/a/b/d", destination_location: "Common", ...NOTEBOOK_FOLDERS };
    await writer.put("/folders/move", out).refused(403, /it needs membership/);
    const [known, unknown] = [
      await writer.put("/folders/move", { ...out, destination_location: "Common/other" }).refused(403),
      await writer.put("/folders/move", { ...out, destination_location: "Common/absent" }).refused(403),
    ];
    expect(known.text).toBe(unknown.text);
    await writer.delete(`/folders/${id}?recursive=true`);
    await writer.delete(`/folders/987654321`).refused(403);
    await setFolderPolicy(writer, "Common/a", []).refused(403);
  });

  test("can deny what the permission table allows", async () => {
    const admin = await given.account();
    const user = await given.member(admin, { groups: ["system-user"] });
    const { id } = await makePath(admin, "Common", ["a", "b"]);
    await makePath(admin, "Common", ["other"]);
    await setFolderPolicy(admin, "Common/a", [deny(["all"], users(user))]);
    await user.get(`/folders/${id}`).refused(403, /policy of the folder denies read/);
    await user.get(`/folders/987654321`).refused(404);
    await user.delete(`/folders/${id}`).refused(403, /denies write/);
    await user.put("/folders/rename", { folder_id: id, name: "c", ...NOTEBOOK_FOLDERS }).refused(403, /denies write/);
    await user
      .post("/folders", { name: "c", location: "Common/a/b", ...NOTEBOOK_FOLDERS })
      .refused(403, /denies write/);
    const move = { location: "Common/other", destination_location: "Common/a", ...NOTEBOOK_FOLDERS };
    await user.put("/folders/move", move).refused(403, /denies write/);
    expect(await locationsIn(user)).toEqual(["Common/other"]);
    expect(await locationsIn(user, "location=Common")).toEqual(["Common/other"]);
    expect(await locationsIn(user, "location=Common/a")).toEqual([]);
    expect(await locationsIn(admin)).toEqual(["Common/a", "Common/a/b", "Common/other"]);
    await admin.delete(`/folders/${id}`);
  });

  test("gives way to a nearer policy, and never denies a folder to its owner", async () => {
    const admin = await given.account();
    const user = await given.member(admin, { groups: ["system-user"] });
    const group = (await admin.post("/groups", { name: "team", members: user.email })).group;
    await makePath(admin, "Common", ["a", "b", "c"]);
    const { id: own } = await makePath(user, "Common/a/b", ["own"]);
    const { id: inOwn } = await makePath(admin, "Common/a/b/own", ["below"]);
    await setFolderPolicy(admin, "Common", [deny(["read"], users(user))]);
    expect(await locationsIn(user)).toEqual(["Common/a/b/own"]);
    await setFolderPolicy(admin, "Common/a/b", [allow(["read"], { svc_groups: [group.id] })]);
    expect(await locationsIn(user)).toEqual(["Common/a/b", "Common/a/b/c", "Common/a/b/own", "Common/a/b/own/below"]);
    await setFolderPolicy(admin, "Common/a/b/own", [{ access: "deny" }]);
    expect(await locationsIn(user)).toEqual(["Common/a/b", "Common/a/b/c", "Common/a/b/own"]);
    expect(await locationsIn(user, "location=Common/a/b")).toEqual(["Common/a/b/c", "Common/a/b/own"]);
    expect(await locationsIn(user, "location=Common/a/b/own")).toEqual([]);
    await user.get(`/folders/${own}`);
    await user.get(`/folders/${inOwn}`).refused(403);
    await admin.put(`/groups/${group.id}/svc_users/${user.membershipId}/remove`, {});
    expect(await locationsIn(user)).toEqual(["Common/a/b/own"]);
  });

  test("applies to folders that are moved below it, and no longer to folders that are moved away", async () => {
    const admin = await given.account();
    const user = await given.member(admin, { groups: ["system-user"] });
    await makePath(admin, "Common", ["closed"]);
    await makePath(admin, "Common", ["a", "b"]);
    await setFolderPolicy(admin, "Common/closed", [deny(["read"], users(user))]);
    await admin.put("/folders/move", {
      location: "Common/a",
      destination_location: "Common/closed",
      ...NOTEBOOK_FOLDERS,
    });
    expect(await locationsIn(user)).toEqual([]);
    await admin.put("/folders/move", {
      location: "Common/closed/a/b",
      destination_location: "Common",
      ...NOTEBOOK_FOLDERS,
    });
    expect(await locationsIn(user)).toEqual(["Common/b"]);
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

  test("can be read with ordinary permissions, but writing needs a policy or a system-admin", async () => {
    const { id } = await makePath(owner, home, ["a", "b"]);
    expect((await other.get(`/folders/${id}`)).location).toBe(`${home}/a/b`);
    const refused = /needs a policy that allows it/;
    await other.post("/folders", { name: "x", location: home, ...NOTEBOOK_FOLDERS }).refused(403, refused);
    await other.post("/folders", { name: "x", location: `${home}/a`, ...NOTEBOOK_FOLDERS }).refused(403, refused);
    await other.put("/folders/rename", { folder_id: id, name: "x", ...NOTEBOOK_FOLDERS }).refused(403, refused);
    await other.delete(`/folders/${id}`).refused(403, refused);
    await setFolderPolicy(other, `${home}/a`, []).refused(403, refused);
    await other.post("/folders", { name: "mine", ...NOTEBOOK_FOLDERS });
    const move = { location: `Users/${other.email}/mine`, destination_location: `${home}/a`, ...NOTEBOOK_FOLDERS };
    await other.put("/folders/move", move).refused(403, refused);
    await setFolderPolicy(owner, `${home}/a`, [allow(["write"], users(other))]);
    expect((await other.put("/folders/move", move)).folder.location).toBe(`${home}/a/mine`);
    await other.post("/folders", { name: "x", location: home, ...NOTEBOOK_FOLDERS }).refused(403, refused);
    await admin.post("/folders", { name: "by-admin", location: home, ...NOTEBOOK_FOLDERS });
  });
});

describe("a list of many folders", () => {
  test("shows only readable ones, and every page but the last is full", async () => {
    const admin = await given.account();
    const user = await given.member(admin, { groups: ["system-user"] });
    const guest = await given.member(admin);
    await fillTree(admin, 3000);
    await setFolderPolicy(admin, "Common", [deny(["read"], users(user))]);
    const names = [7, 8, 9, 500, 1500, 2500, 2999];
    for (const name of names) await setFolderPolicy(admin, `Common/f${name}`, [allow(["read"], users(user, guest))]);
    for (const client of [user, guest]) {
      const expected = names.map((name) => `Common/f${name}`);
      expect(await locationsIn(client)).toEqual(expected);
      expect(await pagesOf(client, "", 2)).toEqual(expected);
      expect(await pagesOf(client, "location=Common&", 3)).toEqual(expected.toSorted());
    }
    await setFolderPolicy(admin, "Common", []);
    await setFolderPolicy(admin, "Common/f2", [deny(["read"], users(user))]);
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
