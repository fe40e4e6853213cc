/** Callers to whom `read` is denied get the object by no other operation either, even if they may change it. */
import { beforeAll, describe, expect, test } from "vitest";
import type { Call, Client } from "../../../test/support/client.ts";
import {
  allow,
  deny,
  makePath,
  NOTEBOOK_FOLDERS,
  setFolderPolicy,
  type Element,
} from "../../../test/support/folders.ts";
import { useSharedServer, type MemberClient } from "../../../test/support/given.ts";
import { givenTeam, type Team } from "../../../test/support/team.ts";

const given = useSharedServer();

const SECRET = "select 'the secret of the notebook'";
const FOLDER = "Common/outer/inner";

let admin: Team["admin"];
/** May do everything with notebooks by their group, and is denied `read`. */
let user: MemberClient;
let groupId: number;
/** Owns the objects of the tests. */
let owner: MemberClient;

beforeAll(async () => {
  ({ admin, user, groupId } = await givenTeam(given));
  owner = await given.member(admin, { groups: ["system-user"] });
  await admin.put(`/groups/${groupId}/svc_users/${user.membershipId}/add`, {});
  await makePath(admin, "Common", ["outer", "inner"]);
  await makePath(admin, "Common", ["shown"], "notebook_dashboards");
});

/** How a policy can name the user. The group and everyone are outranked only by elements that name the user. */
const SUBJECTS: { subject: string; condition: () => Element | undefined }[] = [
  { subject: "the user", condition: () => ({ svc_users: [user.membershipId] }) },
  { subject: "a group of the user", condition: () => ({ svc_groups: [groupId] }) },
  { subject: "everyone", condition: () => undefined },
];

function setObjectPolicy(type: "note" | "cluster", id: number, policy: readonly Element[]): Call {
  const body = { source_type: type, source_id: String(id), policy: JSON.stringify(policy) };
  return admin.put("/object_policy/policy", body);
}

async function explained(type: string, id: number, action: string): Promise<unknown> {
  const query = `source_type=${type}&source_id=${id}&action=${action}&user=${user.membershipId}`;
  const { allowed, policy } = await admin.get(`/api/v2/access/explain?${query}`);
  return { allowed, action: policy?.action };
}

let made = 0;
async function makeNotebook(): Promise<{ id: number; dashboardId: number }> {
  made += 1;
  const paragraphs = [{ language: "sql", text: SECRET }];
  const { id } = await owner.post("/notebooks", { name: `n${made}`, location: FOLDER, paragraphs });
  const { id: dashboardId } = await owner.post("/notebook_dashboards", {
    note_id: id,
    name: `n${made}`,
    location: "Common/shown",
  });
  return { id, dashboardId };
}

/** Every operation that shows, copies or moves the content of a notebook. */
function callsOn(client: Client & { email: string }, { id, dashboardId }: { id: number; dashboardId: number }): Call[] {
  const home = `Users/${client.email}`;
  return [
    client.get(`/notebooks/${id}`),
    client.get(`/notebooks/${id}/export`),
    client.put(`/notebooks/${id}/clone`, { name: `clone of ${id}`, location: home }),
    client.put(`/notebooks/${id}`, {}),
    client.put(`/notebooks/${id}`, { name: `renamed ${id}` }),
    client.post("/notebook_dashboards", { note_id: id, name: `dashboard of ${id}`, location: home }),
    client.put(`/notebook_dashboards/${dashboardId}/publish`, {}),
    client.put(`/notebooks/${id}/move`, { location: home }),
  ];
}

describe("a notebook whose read is denied", () => {
  test.each(SUBJECTS)("to $subject is not shown, copied, published or moved", async ({ condition }) => {
    const notebook = await makeNotebook();
    const expectRefusals = async (): Promise<void> => {
      for (const call of callsOn(user, notebook)) {
        const { text } = await call.refused(403, /denies read/);
        expect(text).not.toContain(SECRET);
      }
      expect(await explained("note", notebook.id, "update")).toEqual({ allowed: false, action: "read" });
      expect(await explained("note", notebook.id, "delete")).toMatchObject({ allowed: true });
    };
    await setObjectPolicy("note", notebook.id, [deny(["read"], condition()), allow(["update", "delete"], condition())]);
    await expectRefusals();
    await setObjectPolicy("note", notebook.id, []);
    await setFolderPolicy(admin, "Common/outer", [deny(["read"], condition()), allow(["write"], condition())]);
    await expectRefusals();
    await user.delete(`/notebooks/${notebook.id}`);
    await setFolderPolicy(admin, "Common/outer", []);
  });

  test("to everyone is open to its owner and to system-admins", async () => {
    const notebook = await makeNotebook();
    await setFolderPolicy(admin, "Common/outer", [deny(["read"]), allow(["write"])]);
    await setObjectPolicy("note", notebook.id, [deny(["read"])]);
    for (const call of callsOn(owner, notebook)) await call;
    const another = await makeNotebook();
    await setObjectPolicy("note", another.id, [deny(["read"])]);
    for (const call of callsOn(admin, another)) await call;
    await setFolderPolicy(admin, "Common/outer", []);
  });

  test("in its folder is open to a user whom its own policy allows read", async () => {
    const notebook = await makeNotebook();
    await setFolderPolicy(admin, "Common/outer", [deny(["read"])]);
    await setObjectPolicy("note", notebook.id, [allow(["read"], { svc_groups: [groupId] })]);
    for (const call of callsOn(user, notebook)) await call;
    await setFolderPolicy(admin, "Common/outer", []);
  });
});

describe("a folder whose read is denied", () => {
  test.each(SUBJECTS)("to $subject is neither moved nor renamed, but can be written to", async ({ condition }) => {
    made += 1;
    const { id, location } = await makePath(owner, FOLDER, [`f${made}`]);
    const { id: notebookId } = await owner.post("/notebooks", { name: "a", location });
    const move = { location, destination_location: `Users/${user.email}`, ...NOTEBOOK_FOLDERS };
    // One of the folder itself, the folder above it and the root.
    const at = [location, FOLDER, "Common"][made % 3] ?? location;
    await setFolderPolicy(admin, at, [deny(["read"], condition()), allow(["write"], condition())]);
    await user.put("/folders/move", move).refused(403, /the policy of the folder denies read/);
    await user.put("/folders/rename", { folder_id: id, name: "b", ...NOTEBOOK_FOLDERS }).refused(403, /denies read/);
    await user.get(`/notebooks/${notebookId}`).refused(403, /denies read/);
    expect(await explained("folder", id, "move")).toEqual({ allowed: false, action: "read" });
    expect(await explained("folder", id, "write")).toEqual({ allowed: true, action: "write" });
    await user.post("/notebooks", { name: "b", location });
    await setFolderPolicy(admin, at, []);
    await setFolderPolicy(admin, location, [deny(["read"])]);
    await owner.put("/folders/rename", { folder_id: id, name: `g${made}`, ...NOTEBOOK_FOLDERS });
    const { folder } = await admin.put("/folders/move", {
      location: `${FOLDER}/g${made}`,
      destination_location: `Users/${user.email}`,
      ...NOTEBOOK_FOLDERS,
    });
    expect(folder.location).toBe(`Users/${user.email}/g${made}`);
    // The policy of the folder itself moves with it.
    await user.get(`/notebooks/${notebookId}`).refused(403, /denies read/);
  });

  test("keeps its dashboards from being published again", async () => {
    const { dashboardId } = await makeNotebook();
    await setFolderPolicy(admin, "Common/shown", [deny(["read"]), allow(["write"])], { type: "notebook_dashboards" });
    await user.put(`/notebook_dashboards/${dashboardId}/publish`, {}).refused(403, /denies read/);
    await owner.put(`/notebook_dashboards/${dashboardId}/publish`, {});
    await setFolderPolicy(admin, "Common/shown", [], { type: "notebook_dashboards" });
  });
});

describe("a cluster whose read is denied", () => {
  test.each(SUBJECTS)("to $subject is neither edited nor given labels", async ({ condition }) => {
    made += 1;
    const label = `c${made}`;
    const { id } = await admin.post("/api/v2/clusters", {
      labels: [label, `${label}-spare`],
      engine: { type: "local" },
    });
    const { id: open } = await admin.post("/api/v2/clusters", { labels: [`${label}-open`], engine: { type: "local" } });
    await setObjectPolicy("cluster", id, [deny(["read"], condition()), allow(["update", "start"], condition())]);
    await setObjectPolicy("cluster", open, [allow(["read", "update"], condition())]);
    await user.put(`/api/v2/clusters/${id}`, {}).refused(403);
    const give = (to: number, moved: string) => ({ destination_cluster: String(to), label: moved });
    await user.put("/api/v2/clusters/reassign-label", give(id, `${label}-open`)).refused(403);
    await user.put("/api/v2/clusters/reassign-label", give(open, `${label}-spare`)).refused(403);
    expect(await explained("cluster", id, "update")).toEqual({ allowed: false, action: "read" });
    expect(await explained("cluster", id, "start")).toEqual({ allowed: true, action: "start" });
    await admin.put(`/api/v2/clusters/${id}`, {});
    await user.put(`/api/v2/clusters/${open}`, {});
  });
});
