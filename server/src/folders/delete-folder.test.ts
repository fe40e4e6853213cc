import { beforeEach, describe, expect, test } from "vitest";
import type { Call, Client } from "../../test/support/client.ts";
import { replyDuring } from "../../test/support/during-change.ts";
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

describe("DELETE /folders/<id>", () => {
  test("deletes an empty folder, whose name can be used again", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["a"]);
    expect(await account.delete(`/folders/${id}`)).toEqual({ status: "deleted" });
    await account.get(`/folders/${id}`).refused(404);
    await account.delete(`/folders/${id}`).refused(404);
    await makePath(account, "Common", ["a"]);
  });

  test("refuses a folder that is not empty unless recursive is true", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["a"]);
    await makePath(account, "Common/a", ["b"]);
    await account.delete(`/folders/${id}`).refused(422, /^recursive must be true/);
    await account.delete(`/folders/${id}?recursive=false`).refused(422, /^recursive must be true/);
    await account.delete(`/folders/${id}?recursive=perhaps`).refused(422, /^recursive must be a boolean/);
    expect(await locationsIn(account, "")).toEqual(["Common/a", "Common/a/b"]);
    await account.delete(`/folders/${id}?recursive=True`);
    expect(await locationsIn(account, "")).toEqual([]);
  });

  test("with recursive also deletes the notebooks, dashboards and policies below, and nothing else", async () => {
    const account = await given.account();
    for (const type of ["notes", "notebook_dashboards"]) {
      const { id } = await makePath(account, "Common", ["a"], type);
      for (const { location } of [
        await makePath(account, "Common/a", ["b", "c"], type),
        await makePath(account, "Common", ["other"], type),
      ]) {
        await setFolderPolicy(account, location, [deny(["write"])], { type });
        await fill(account, location, type);
      }
      await account.delete(`/folders/${id}`, { recursive: true });
      expect(await locationsIn(account, `type=${type}`)).toEqual(["Common/other"]);
    }
    // The notebook and the dashboard in Common/other stay, with three policies. So do the two published notebooks,
    // which lie in the home of their owner.
    expect(await storedIn(account)).toEqual({ notes: 3, contents: 3, dashboards: 1, policies: 3, rules: 3 });
  });

  test("deletes thousands of folders on several levels in one request", async () => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["top"]);
    await makePath(account, "Common", ["other"]);
    await given.app.services.db.system.query(
      `with level as (insert into folder (account_id, type, name, parent_id)
                      select $1, 'notes', 'f' || n, $2 from generate_series(1, 3) n returning id)
       insert into folder (account_id, type, name, parent_id)
       select $1, 'notes', 'g' || n, level.id from level, generate_series(1, 2000) n`,
      [account.accountId, id],
    );
    await account.delete(`/folders/${id}?recursive=true`);
    expect(await locationsIn(account, "")).toEqual(["Common/other"]);
    const [stored] = await given.app.services.db.system.query(
      "select detail from audit_event where account_id = $1 order by id desc limit 1",
      [account.accountId],
    );
    expect(stored).toEqual({ detail: { before: { location: "Common/top", folders: 6004 }, after: null } });
  });

  test("is refused without recursive while a notebook or a dashboard lies in the folder", async () => {
    const account = await given.account();
    for (const type of ["notes", "notebook_dashboards"]) {
      const { id, location } = await makePath(account, "Common", ["a"], type);
      const path = await fill(account, location, type);
      await account.delete(`/folders/${id}`).refused(422, /^recursive must be true/);
      await account.delete(path);
      await account.delete(`/folders/${id}`);
    }
  });

  test.each([
    ["10000 folders", "insert into folder (account_id, type, name, parent_id) select $1, 'notes', 'f' || n, $2"],
    [
      "10000 notebooks and dashboards",
      "insert into note (account_id, name, folder_id, note_type) select $1, 'n' || n, $2, 'spark'",
    ],
    [
      "notebooks and dashboards with 1 GiB of content",
      "insert into note (account_id, name, folder_id, note_type, bytes) select $1, 'n' || n, $2, 'spark', 200000",
    ],
  ])("refuses to delete more than %s at once", async (limit, insertion) => {
    const account = await given.account();
    const { id } = await makePath(account, "Common", ["top"]);
    const rows = insertion.includes("bytes") ? 6000 : 10_001;
    const { system } = given.app.services.db;
    await system.query(`${insertion} from generate_series(1, ${rows}) n`, [account.accountId, id]);
    await account
      .delete(`/folders/${id}?recursive=true`)
      .refused(422, new RegExp(`^recursive deletes at most ${limit} at once: delete some`));
    expect((await account.get(`/folders/${id}`)).location).toBe("Common/top");
  });

  test("also deletes a policy that is set on a notebook at the same time", async () => {
    const account = await given.account();
    const { id, location } = await makePath(account, "Common", ["a"]);
    const notebook = await account.post("/notebooks", { name: "n", location });
    const reply = await replyDuring(
      given,
      [
        ["update note set has_policy = true where id = $1", [notebook.id]],
        [
          "insert into object_policy (account_id, source_type, source_id, elements) values ($1, 'note', $2, '[]')",
          [account.accountId, notebook.id],
        ],
      ],
      account.delete(`/folders/${id}?recursive=true`),
    );
    expect(reply.status, reply.text).toBe(200);
    expect(await storedIn(account)).toMatchObject({ notes: 0, policies: 0 });
  });
});

const REFUSAL = /^You may not do this: a policy or a missing permission keeps you from deleting something below/;

describe("DELETE /folders/<id> with something below that the caller may not delete", () => {
  let admin: AccountClient;
  let user: MemberClient;
  let top: { id: number; location: string };

  beforeEach(async () => {
    admin = await given.account();
    user = await given.member(admin, { groups: ["system-user"] });
    top = await makePath(user, "Common", ["top"]);
  });

  const attempt = (): Call => user.delete(`/folders/${top.id}?recursive=true`);

  test("is refused if a policy below denies it, unless the caller owns what it protects", async () => {
    const { id: inner } = await makePath(admin, top.location, ["x", "y"]);
    await setFolderPolicy(admin, "Common/top/x/y", [deny(["write"], users(user))]);
    await attempt().refused(403, REFUSAL);
    await setFolderPolicy(admin, "Common/top/x/y", [allow(["write"]), deny(["read"], users(user))]);
    const notebook = await admin.post("/notebooks", { name: "n", location: "Common/top/x/y" });
    const policy = JSON.stringify([deny(["delete"], users(user))]);
    await admin.put("/object_policy/policy", { source_type: "note", source_id: notebook.id, policy });
    await attempt().refused(403, REFUSAL);
    expect(await locationsIn(admin)).toHaveLength(3);
    await given.app.services.db.system.query("update note set owner_id = $1 where folder_id = $2", [
      user.membershipId,
      inner,
    ]);
    await attempt();
    expect(await locationsIn(admin)).toEqual([]);
  });

  test.each(["notes", "notebook_dashboards"])(
    "is refused to a folder's owner whom a policy denies write, if others own objects in it (%s)",
    async (type) => {
      const { id, location } = type === "notes" ? top : await makePath(user, "Common", ["top"], type);
      await fill(user, location, type);
      await setFolderPolicy(admin, "Common", [deny(["write"], users(user))], { type });
      const path = await fill(admin, location, type, "of-admin");
      await user.delete(`/folders/${id}?recursive=true`).refused(403, REFUSAL);
      await admin.delete(path);
      await user.delete(`/folders/${id}?recursive=true`);
    },
  );

  test("is refused if a policy denies write on others' folders, unless a nearer policy allows it", async () => {
    await makePath(admin, top.location, ["x"]);
    await setFolderPolicy(admin, top.location, [deny(["write"], users(user))]);
    await attempt().refused(403, REFUSAL);
    await setFolderPolicy(admin, `${top.location}/x`, [allow(["write"], users(user))]);
    await attempt();
  });

  test("is refused to an owner without permissions, unless the policy of the notebook allows it", async () => {
    const notebook = await admin.post("/notebooks", { name: "n", location: top.location });
    const group = await admin.get("/groups/system-user");
    await admin.put(`/groups/${group.id}/svc_users/${user.membershipId}/remove`, {});
    await attempt().refused(403, REFUSAL);
    const policy = JSON.stringify([allow(["delete"], users(user))]);
    await admin.put("/object_policy/policy", { source_type: "note", source_id: notebook.id, policy });
    await attempt();
  });

  test("is refused to a role that may delete folders but not notebooks", async () => {
    const policies = JSON.stringify([{ resource: "folder", action: ["read", "write"], access: "allow" }]);
    await admin.post("/roles", { name: "gardener", policies });
    await admin.post("/groups", { name: "gardeners", roles: "gardener" });
    const gardener = await given.member(admin, { groups: ["gardeners"] });
    await makePath(admin, top.location, ["x"]);
    const notebook = await admin.post("/notebooks", { name: "n", location: top.location });
    await gardener.delete(`/folders/${top.id}?recursive=true`).refused(403, REFUSAL);
    await admin.delete(`/notebooks/${notebook.id}`);
    await gardener.delete(`/folders/${top.id}?recursive=true`);
  });

  test("is refused in the home of another member, although the caller owns the folder", async () => {
    const home = `Users/${admin.email}`;
    await setFolderPolicy(admin, home, [allow(["write"], users(user))]);
    top = await makePath(user, home, ["shared"]);
    await admin.post("/notebooks", { name: "n", location: top.location });
    await setFolderPolicy(admin, home, []);
    await attempt().refused(403, REFUSAL);
  });
});

describe("a folder that another request moves, or one above it, while it is changed", () => {
  const CHANGES = {
    deleted: (user: Client, id: number) => user.delete(`/folders/${id}`),
    renamed: (user: Client, id: number) =>
      user.put("/folders/rename", { folder_id: id, name: "b", ...NOTEBOOK_FOLDERS }),
    moved: (user: Client) =>
      user.put("/folders/move", { location: "Common/x/y/a", destination_location: "Common/to", ...NOTEBOOK_FOLDERS }),
  };
  const cases = Object.entries(CHANGES).flatMap(([kind, call]) =>
    ["Common/x/y/a", "Common/x"].map((moved) => [kind, moved, call] as const),
  );

  test.each(cases)("is authorised by the policies of its new folders when it is %s (%s)", async (_kind, from, call) => {
    const admin = await given.account();
    const user = await given.member(admin, { groups: ["system-user"] });
    const names = ["x", "y", "a"];
    const { id } = await makePath(admin, "Common", names);
    await makePath(admin, "Common", ["to"]);
    const closed = await makePath(admin, "Common", ["closed"]);
    await setFolderPolicy(admin, closed.location, [deny(["write"], users(user))]);
    const name = from.slice(-1);
    const move = [
      "update folder set parent_id = $2 where account_id = $1 and name = $3",
      [admin.accountId, closed.id, name],
    ] as const;
    const { status, text } = await replyDuring(given, [move], call(user, id));
    expect([status, text]).toEqual([403, expect.stringContaining("denies write")]);
    const below = names.slice(names.indexOf(name)).join("/");
    expect((await admin.get(`/folders/${id}`)).location).toBe(`Common/closed/${below}`);
  });
});

test.each([
  ["renamed", "PUT", "/folders/rename", { location: "Common/a", name: "b" }],
  ["moved", "PUT", "/folders/move", { location: "Common/a", destination_location: "Common" }],
  ["given a policy", "PUT", "/folders/policy", { location: "Common", name: "a", policy: "[]" }],
  ["given a folder", "POST", "/folders", { location: "Common/a", name: "b" }],
])("a folder that is deleted while it is %s is refused as the request names it", async (_kind, method, path, body) => {
  const account = await given.account();
  const { id } = await makePath(account, "Common", ["a"]);
  const deletion = ["delete from folder where id = $1", [id]] as const;
  const { status, text } = await replyDuring(
    given,
    [deletion],
    account.call(method, path, { ...body, ...NOTEBOOK_FOLDERS }),
  );
  expect([status, text]).toEqual([404, expect.stringContaining("Folder Common/a does not exist in the tree of")]);
});

/** Creates a notebook with a policy of its own, or a dashboard, in the folder and returns its path in the API. */
async function fill(client: AccountClient, location: string, type: string, name = "n"): Promise<string> {
  const isDashboard = type === "notebook_dashboards";
  const { id } = await client.post("/notebooks", {
    name: `${name}-${location.replaceAll("/", "-")}`,
    ...(isDashboard ? {} : { location }),
  });
  if (isDashboard) {
    const dashboard = await client.post("/notebook_dashboards", { note_id: id, name, location });
    return `/notebook_dashboards/${dashboard.id}`;
  }
  const policy = JSON.stringify([allow(["read"])]);
  await client.put("/object_policy/policy", { source_type: "note", source_id: id, policy });
  return `/notebooks/${id}`;
}

async function storedIn({ accountId }: AccountClient): Promise<unknown> {
  const [row] = await given.app.services.db.system.query(
    `select (select count(*) from note where account_id = $1) as notes,
            (select count(*) from note_content where account_id = $1) as contents,
            (select count(*) from dashboard where account_id = $1) as dashboards,
            (select count(*) from object_policy where account_id = $1) as policies,
            (select count(*) from policy_rule where account_id = $1) as rules`,
    [accountId],
  );
  return row;
}
