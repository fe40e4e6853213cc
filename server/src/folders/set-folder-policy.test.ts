import { describe, expect, test } from "vitest";
import { allow, deny, makePath, NOTEBOOK_FOLDERS, setFolderPolicy, users } from "../../test/support/folders.ts";
import { useSharedServer } from "../../test/support/given.ts";
import { sendAs } from "../../test/support/raw-request.ts";

const given = useSharedServer();

describe("PUT and GET /folders/policy", () => {
  test("reply with the policy as an array, with location and type", async () => {
    const admin = await given.account();
    const member = await given.member(admin);
    const { id } = await makePath(admin, "Common", ["a"]);
    const policy = [allow(["read", "write"], users(member)), { access: "deny" }];
    const expected = {
      status: "success",
      source_id: id,
      source_type: "Folder",
      location: "Common/a",
      ...NOTEBOOK_FOLDERS,
      policy,
    };
    expect(await setFolderPolicy(admin, "Common/a", policy, { source_type: "Folder" })).toEqual(expected);
    expect(await admin.get("/folders/policy?location=Common/a&type=notes")).toEqual(expected);
    expect(await setFolderPolicy(admin, "Common/a", [])).toEqual({ ...expected, policy: [] });
    const { audit_events: events } = await admin.get("/api/v2/audit_events");
    expect(events[0]).toMatchObject({ operation: "folder_policy_set", object: `folder/${id}`, outcome: "done" });
    const [stored] = await given.app.services.db.system.query<{ detail: unknown }>(
      "select detail from audit_event where account_id = $1 order by id desc limit 1",
      [admin.accountId],
    );
    expect(stored?.detail).toEqual({ before: policy, after: [] });
  });

  test("accept the folder's location, its parent's location and its name, its id, or several that agree", async () => {
    const admin = await given.account();
    const { id } = await makePath(admin, "Common", ["a", "b"]);
    for (const named of [
      { location: "Common/a", name: "b" },
      { location: "Common/a/b", name: "b" },
      { location: "Common/a/b", folder_id: id },
      { location: "Common/a", name: "b", folder_id: String(id) },
      { location: undefined, folder_id: id },
    ]) {
      const reply = await setFolderPolicy(admin, "", [allow(["read"])], named);
      expect(reply).toMatchObject({ source_id: id, location: "Common/a/b" });
    }
    await setFolderPolicy(admin, "Common", [], { name: "b" }).refused(404);
    await setFolderPolicy(admin, "Common/a", [], { folder_id: id }).refused(
      422,
      /^folder_id must be the id of the folder/,
    );
    await setFolderPolicy(admin, "Common/b", [], { folder_id: id, name: "b" }).refused(422, /^folder_id/);
    await makePath(admin, "Common/a/b", ["b"]);
    await setFolderPolicy(admin, "Common/a/b", [], { name: "b" }).refused(
      422,
      /^name must be left out, and location must be the full path: both .*Common\/a\/b\/b/,
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
      const reply = await setFolderPolicy(admin, location, policy, { type });
      expect(reply).toMatchObject({ source_id: null, location, type, policy });
      const seen = await admin.get(`/folders/policy?type=${type}&location=${encodeURIComponent(location)}`);
      expect(seen).toEqual(reply);
    }
    await member
      .post("/folders", { name: "x", location: "Common", ...NOTEBOOK_FOLDERS })
      .refused(403, /policy of the folder denies/);
    await member.post("/folders", { name: "x", location: "Common", type: "notebook_dashboards" }).refused(403);
    await setFolderPolicy(admin, "Common", []);
    await member.post("/folders", { name: "x", location: "Common", ...NOTEBOOK_FOLDERS });
  });

  test("GET accepts the fields in a JSON body", async () => {
    const admin = await given.account();
    await makePath(admin, "Common", ["a"]);
    const body = JSON.stringify({ location: "Common/a", type: "notes", source_type: "Folder" });
    const reply = await sendAs(given.base, admin, { method: "GET", path: "/api/v1.2/folders/policy", body });
    expect(reply.body).toMatchObject({ status: "success", location: "Common/a", policy: [] });
  });

  test.each([
    [{ policy: "no json" }, /^policy must be an array, or the JSON text of one/],
    [{ policy: '[{"access":"allow","action":["update"]}]' }, /^policy\[0\]\.action must be .*read, write, manage, all/],
    [{ policy: '[{"access":"allow","action":["read"],"condition":{"svc_users":[987654321]}}]' }, /svc_users/],
    [{ policy: undefined }, /^policy is required/],
    [{ type: undefined }, /^type is required/],
    [{ type: "files" }, /^type must be one of/],
    [{ location: undefined }, /^location is required unless folder_id is given/],
    [{ source_type: "note" }, /^source_type must be one of Folder/],
  ])("refuse a request that breaks the rule $1, and store nothing", async (change, message) => {
    const admin = await given.account();
    await makePath(admin, "Common", ["a"]);
    await setFolderPolicy(admin, "Common/a", [allow(["read"])]);
    await setFolderPolicy(admin, "Common/a", [], change).refused(422, message);
    const { policy } = await admin.get("/folders/policy?location=Common/a&type=notes");
    expect(policy).toEqual([allow(["read"])]);
  });

  test("need the permission to manage the folder, which its policies can give and take", async () => {
    const admin = await given.account();
    const [user, manager, stranger] = [
      await given.member(admin, { groups: ["system-user"] }),
      await given.member(admin),
      await given.member(admin),
    ];
    await makePath(admin, "Common", ["a", "b"]);
    await setFolderPolicy(user, "Common/a", [allow(["manage"], users(manager))]);
    expect((await setFolderPolicy(manager, "Common/a/b", [allow(["write"])])).status).toBe("success");
    await manager.get("/folders/policy?location=Common/a&type=notes");
    await manager.get("/folders?location=Common/a").refused(403);
    for (const path of ["Common/a", "Common/absent"]) {
      await setFolderPolicy(stranger, path, []).refused(403, /system-user or system-admin/);
      await stranger.get(`/folders/policy?location=${path}&type=notes`).refused(403);
    }
    await setFolderPolicy(admin, "Common/a", [deny(["manage"], users(user))]);
    await setFolderPolicy(user, "Common/a", []).refused(403, /denies manage/);
    await setFolderPolicy(user, "Common/a/b", []).refused(403, /denies manage/);
    await user.get("/folders/policy?location=Common/a&type=notes");
  });

  test("members with the permission to set policies can always undo the policy of their own home", async () => {
    const admin = await given.account();
    const member = await given.member(admin, { groups: ["system-user"] });
    const home = `Users/${member.email}`;
    await setFolderPolicy(member, home, [{ access: "deny" }]);
    await member.post("/folders", { name: "x", location: home, ...NOTEBOOK_FOLDERS }).refused(403);
    await setFolderPolicy(member, home, []);
    await member.post("/folders", { name: "x", location: home, ...NOTEBOOK_FOLDERS });
    const stranger = await given.member(admin);
    await setFolderPolicy(stranger, `Users/${stranger.email}`, []).refused(403);
    await stranger.post("/folders", { name: "x", ...NOTEBOOK_FOLDERS }).refused(403);
  });
});
