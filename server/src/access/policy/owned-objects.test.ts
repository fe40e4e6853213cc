/** Owners may view their objects whatever the permission table says, so lists show them, too. */
import { beforeAll, describe, expect, test } from "vitest";
import { useSharedServer, type AccountClient, type MemberClient } from "../../../test/support/given.ts";

const given = useSharedServer();

let admin: AccountClient;
let owner: MemberClient;
let outsider: MemberClient;

const LISTS = [
  { list: "clusters", path: "/api/v2/clusters" },
  { list: "notebooks", path: "/notebooks" },
  { list: "folders", path: "/folders" },
  { list: "notebook_dashboards", path: "/notebook_dashboards" },
] as const;
type List = (typeof LISTS)[number]["list"];

const own = {} as Record<List, number>; // filled below

beforeAll(async () => {
  admin = await given.account();
  outsider = await given.member(admin);
  const makers = [
    { resource: "cluster", action: ["create", "delete"], access: "allow" },
    { resource: "note", action: ["all"], access: "allow" },
    { resource: "folder", action: ["all"], access: "allow" },
    { resource: "notebook_dashboards", action: ["all"], access: "allow" },
  ];
  await admin.post("/roles", { name: "makers", policies: JSON.stringify(makers) });
  const { group } = await admin.post("/groups", { name: "makers", roles: "makers" });
  owner = await given.member(admin, { groups: ["makers"] });
  own.clusters = (await owner.post("/api/v2/clusters", { labels: ["own"], engine: { type: "local" } })).id;
  own.folders = (await owner.post("/folders", { name: "own", location: "Common", type: "notes" })).folder.id;
  own.notebooks = (await owner.post("/notebooks", { name: "own", location: "Common" })).id;
  const dashboard = { note_id: own.notebooks, name: "own", location: "Common" };
  own.notebook_dashboards = (await owner.post("/notebook_dashboards", dashboard)).id;
  await admin.post("/folders", { name: "other", location: "Common", type: "notes" });
  await admin.post("/notebooks", { name: "other", location: "Common" });
  await admin.post("/notebook_dashboards", { ...dashboard, name: "other" });
  await admin.put(`/groups/${group.id}/svc_users/${owner.membershipId}/remove`, {});
});

const idsOf = (rows: readonly { id: number }[]): number[] => rows.map(({ id }) => id);

describe("a member without permission", () => {
  test.each(LISTS)("lists the $list that they own, and nothing else", async ({ list, path }) => {
    await owner.get(`${path}/${own[list]}`);
    expect(idsOf((await owner.get(path))[list])).toEqual([own[list]]);
    await outsider.get(path).refused(403, /needs membership/);
  });

  test("still lists the objects that they own if policies deny reading", async () => {
    const policy = JSON.stringify([{ access: "deny" }]);
    for (const [type, id] of [
      ["cluster", own.clusters],
      ["note", own.notebooks],
    ] as const) {
      await admin.put("/object_policy/policy", { source_type: type, source_id: String(id), policy });
    }
    expect(idsOf((await owner.get("/api/v2/clusters")).clusters)).toEqual([own.clusters]);
    expect(idsOf((await owner.get("/notebooks")).notebooks)).toEqual([own.notebooks]);
  });

  test("gets 403 again when they own none any more", async () => {
    await owner.delete(`/api/v2/clusters/${own.clusters}`);
    await owner.get("/api/v2/clusters").refused(403);
  });
});
