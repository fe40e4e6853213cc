/** Policies that change at the same moment as the objects they belong to, or as a request of the denied user. */
import { beforeAll, expect, test } from "vitest";
import type { Call } from "../../../test/support/client.ts";
import { replyDuring } from "../../../test/support/during-change.ts";
import { deny, makePath, NOTEBOOK_FOLDERS, setFolderPolicy, type Element } from "../../../test/support/folders.ts";
import { useServer, type AccountClient, type MemberClient } from "../../../test/support/given.ts";

const given = useServer({ settings: { HEADGATE_RATE_LIMIT: "0" } });
const ROUNDS = 4;

let admin: AccountClient;
let user: MemberClient;

beforeAll(async () => {
  admin = await given.account();
  user = await given.member(admin, { groups: ["system-user"] });
});

const DENY_ALL: readonly Element[] = [{ access: "deny" }];

function setPolicy(type: "note" | "cluster", id: number): Call {
  const policy = JSON.stringify(DENY_ALL);
  return admin.put("/object_policy/policy", { source_type: type, source_id: String(id), policy });
}

const makeNotebook = async (name: string, location: string): Promise<number> =>
  (await admin.post("/notebooks", { name, location, paragraphs: [{ language: "sql", text: "select 1" }] })).id;

const moveFolder = (location: string, destination: string): Call =>
  user.put("/folders/move", { location, destination_location: destination, ...NOTEBOOK_FOLDERS });

/** Each pair of calls runs at the same time. Either order is right; the statuses say which are expected of each. */
const RACES: {
  name: string;
  begin: (round: string) => Promise<readonly { call: Call; statuses: readonly number[] }[]>;
}[] = [
  {
    name: "the policy of a notebook and its deletion",
    begin: async (round) => {
      const id = await makeNotebook(round, "Common");
      return [
        { call: setPolicy("note", id), statuses: [200, 404] },
        { call: admin.delete(`/notebooks/${id}`), statuses: [200] },
      ];
    },
  },
  {
    name: "the policy of a notebook and the deletion of its folder",
    begin: async (round) => {
      const folder = await makePath(admin, "Common", [round, "inner"]);
      const id = await makeNotebook("a", folder.location);
      return [
        { call: setPolicy("note", id), statuses: [200, 404] },
        { call: admin.delete(`/folders/${folder.id}?recursive=true`), statuses: [200] },
      ];
    },
  },
  {
    name: "the policy of a folder and the deletion of the folder above it",
    begin: async (round) => {
      const above = await makePath(admin, "Common", [round]);
      const { location } = await makePath(admin, above.location, ["inner"]);
      return [
        { call: setFolderPolicy(admin, location, DENY_ALL), statuses: [200, 404] },
        { call: admin.delete(`/folders/${above.id}?recursive=true`), statuses: [200] },
      ];
    },
  },
  {
    name: "the policy of a cluster and its deletion",
    begin: async (round) => {
      const { id } = await admin.post("/api/v2/clusters", { labels: [round], engine: { type: "local" } });
      return [
        { call: setPolicy("cluster", id), statuses: [200, 404] },
        { call: admin.delete(`/api/v2/clusters/${id}`), statuses: [200] },
      ];
    },
  },
  {
    name: "a move of a notebook, the policy of its new folder and the deletion of that folder",
    begin: async (round) => {
      const folder = await makePath(admin, "Common", [round]);
      const id = await makeNotebook(round, "Common");
      return [
        { call: user.put(`/notebooks/${id}/move`, { location: folder.location }), statuses: [200, 403, 404] },
        { call: setFolderPolicy(admin, folder.location, DENY_ALL), statuses: [200, 404] },
        { call: admin.delete(`/folders/${folder.id}?recursive=true`), statuses: [200] },
      ];
    },
  },
  {
    name: "a move of a folder, the policy of its new parent and the deletion of that parent",
    begin: async (round) => {
      const parent = await makePath(admin, "Common", [`${round} parent`]);
      const moved = await makePath(admin, "Common", [round]);
      await makeNotebook("a", moved.location);
      return [
        { call: moveFolder(moved.location, parent.location), statuses: [200, 403, 422] },
        { call: setFolderPolicy(admin, parent.location, DENY_ALL), statuses: [200, 404] },
        { call: admin.delete(`/folders/${parent.id}?recursive=true`), statuses: [200] },
      ];
    },
  },
  {
    name: "two policies of a notebook, its clone and its publication",
    begin: async (round) => {
      const id = await makeNotebook(round, "Common");
      const dashboard = { note_id: id, name: round, location: `Users/${user.email}` };
      return [
        { call: setPolicy("note", id), statuses: [200] },
        { call: setPolicy("note", id), statuses: [200] },
        { call: user.put(`/notebooks/${id}/clone`, { name: round }), statuses: [200, 403] },
        { call: user.post("/notebook_dashboards", dashboard), statuses: [200, 403] },
      ];
    },
  },
];

/** Policies without their objects, notebooks that are marked wrongly, and objects in folders that do not exist. */
const INCONSISTENT = `
  select p.source_type, p.source_id from object_policy p
   where case p.source_type
           when 'note' then not exists (select from note o where o.id = p.source_id)
           when 'folder' then not exists (select from folder o where o.id = p.source_id)
           when 'cluster' then not exists (select from cluster o where o.id = p.source_id and o.deleted_at is null)
           else false end
  union all
  select 'mark', n.id from note n
   where n.has_policy <> exists (select from object_policy p where p.source_type = 'note' and p.source_id = n.id)
  union all
  select 'lost', n.id from note n
   where n.folder_id is not null and not exists (select from folder f where f.id = n.folder_id)`;

test.each(RACES)("$name leave nothing behind that does not belong together", async ({ begin, name }) => {
  for (let round = 1; round <= ROUNDS; round += 1) {
    const calls = await begin(`${name.replaceAll("/", " ")} ${round}`.slice(-60).trim());
    const replies = await Promise.all(calls.map(({ call }) => call.reply()));
    for (const [index, { status, text }] of replies.entries()) expect(calls[index]?.statuses, text).toContain(status);
  }
  expect(await given.app.services.db.system.query(INCONSISTENT)).toEqual([]);
});

test("a request that was admitted before a policy denies it may finish; the next one is refused", async () => {
  const id = await makeNotebook("waiting", "Common");
  await setPolicy("note", id);
  const policy = JSON.stringify([{ access: "allow" }]);
  await admin.put("/object_policy/policy", { source_type: "note", source_id: String(id), policy });
  const denial = [
    ["update note set has_policy = true where id = $1", [id]],
    [
      `update object_policy set elements = $2 where source_type = 'note' and source_id = $1`,
      [id, JSON.stringify([{ access: "deny" }])],
    ],
  ] as const;
  const reply = await replyDuring(given, denial, user.put(`/notebooks/${id}`, { name: "edited in time" }));
  expect(reply).toMatchObject({ status: 200, body: { name: "edited in time" } });
  await user.put(`/notebooks/${id}`, { name: "edited too late" }).refused(403, /denies update/);
  expect(await admin.get(`/notebooks/${id}`)).toMatchObject({ name: "edited in time" });
});

test("a folder that is moved while read on it is denied has one parent afterwards, with its policy", async () => {
  const { id, location } = await makePath(admin, "Common", ["moving"]);
  const denial = setFolderPolicy(admin, location, [deny(["read"])]);
  const [moved] = await Promise.all([moveFolder(location, `Users/${user.email}`).reply(), denial.reply()]);
  expect([200, 403]).toContain(moved.status);
  await setFolderPolicy(admin, "", [deny(["read"])], { location: undefined, folder_id: id });
  await user.get(`/folders/${id}`).refused(403, /denies read/);
  await user.put("/folders/rename", { folder_id: id, name: "b", ...NOTEBOOK_FOLDERS }).refused(403);
});
