/** Runs the curl lines of the recipes in docs/policies.md, and checks what the text after them promises. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { Client } from "./support/client.ts";
import { runCurlLine } from "./support/curl-lines.ts";
import { makePath, NOTEBOOK_FOLDERS } from "./support/folders.ts";
import { useSharedServer, type AccountClient } from "./support/given.ts";
import { repositoryDir } from "./support/repository-dir.ts";

const given = useSharedServer();

const guide = readFileSync(join(repositoryDir, "docs/policies.md"), "utf8");

/** The curl lines in the section with this heading. */
function linesOf(heading: string): string[] {
  const [, section = ""] = guide.split(`\n### ${heading}\n`);
  const [recipe = ""] = section.split("\n##", 1);
  const blocks = [...recipe.matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = ""]) => block);
  // The lines of a body are indented.
  return blocks.flatMap((block) => block.split(/^(?=\S)/m)).filter((command) => command.startsWith("curl "));
}

/** `ids`: those of the text, and those of the test. */
async function run(admin: AccountClient, line: string, ids: Record<string, string> = {}): Promise<unknown> {
  const filled = Object.entries(ids).reduce((text, [from, to]) => {
    expect(text).toContain(from);
    return text.replace(from, to);
  }, line);
  const { status, text } = await runCurlLine(filled, { HEADGATE: given.base, TOKEN: admin.token ?? "" });
  expect(status, `${filled}: ${text}`).toBe(200);
  return JSON.parse(text);
}

/** The invited user, after accepting the invitation and being enabled. */
async function activate(admin: AccountClient, invitation: unknown): Promise<{ client: Client; id: number }> {
  const { invitation_code: code } = invitation as { invitation_code: string };
  const { authentication_token: token, id } = await given.anonymous().post("/api/v2/invitations/accept", { code });
  await admin.post("/accounts/enable_svc_user", { svc_user_id: String(id) });
  return { client: new Client(given.base, token), id };
}

const sql = (label: string) => ({ command_type: "SparkCommand", sql: "select 1", label });

test("one cluster for one group: its members run commands there, and only there", async () => {
  const admin = await given.account({ features: ["closed_clusters"] });
  const { group } = await admin.post("/groups", { name: "etl" });
  const { id } = await admin.post("/api/v2/clusters", { labels: ["etl"], engine: { type: "local" } });
  const member = await given.member(admin, { groups: ["etl", "system-user"] });
  const other = await given.member(admin, { groups: ["system-user"] });
  const [line = ""] = linesOf("One cluster for one group");
  await run(admin, line, { '"source_id": "3"': `"source_id": "${id}"`, "[8]": `[${group.id}]` });
  await member.post("/commands", sql("etl"));
  await member.post("/commands", sql("default")).refused(403, /feature closed_clusters/);
  await other.post("/commands", sql("etl")).refused(403, /feature closed_clusters/);
  const { id: defaultId } = await admin.get("/api/v2/clusters/default");
  await run(admin, line, {
    '"source_id": "3"': `"source_id": "${defaultId}"`,
    ',"condition":{"svc_groups":[8]}': "",
  });
  await other.post("/commands", sql("default"));
});

test("analysts who only read: they see objects and change none", async () => {
  const admin = await given.account();
  const { id: command } = await admin.post("/commands", sql("default"));
  const { id: note } = await admin.post("/notebooks", { name: "n", location: "Common" });
  const [role = "", group = "", invitation = "", ...others] = linesOf("Analysts who only read");
  expect(others).toEqual([]);
  await run(admin, role);
  await run(admin, group);
  const { client: analyst } = await activate(admin, await run(admin, invitation));
  for (const path of [`/commands/${command}`, `/notebooks/${note}`, "/folders", "/api/v2/clusters/default"]) {
    await analyst.get(path);
  }
  const cluster = { labels: ["mine"], engine: { type: "local" } };
  await analyst.post("/commands", sql("default")).refused(403);
  await analyst.put(`/commands/${command}`, { status: "kill" }).refused(403);
  await analyst.post("/notebooks", { name: "m" }).refused(403);
  await analyst.put(`/notebooks/${note}`, { name: "m" }).refused(403);
  await analyst.post("/folders", { name: "f", ...NOTEBOOK_FOLDERS }).refused(403);
  await analyst.post("/api/v2/clusters", cluster).refused(403);
  await analyst.put("/api/v2/clusters/default", {}).refused(403);
});

test("a contractor who sees one folder: they read what is in it, change nothing and see nothing else", async () => {
  const admin = await given.account();
  const { id: folder, location } = await makePath(admin, "Common", ["partners"]);
  const { location: below } = await makePath(admin, location, ["below"]);
  const { id: note } = await admin.post("/notebooks", { name: "a", location });
  const { id: deeper } = await admin.post("/notebooks", { name: "b", location: below });
  const { id: hidden } = await admin.post("/notebooks", { name: "c", location: "Common" });
  const [invitation = "", policy = "", ...others] = linesOf("A contractor who sees one folder");
  expect(others).toEqual([]);
  const { client: contractor, id } = await activate(admin, await run(admin, invitation));
  await run(admin, policy, { "[31]": `[${id}]` });
  const { notebooks } = await contractor.get("/notebooks");
  expect(new Set(notebooks.map((each: { id: number }) => each.id))).toEqual(new Set([note, deeper]));
  await contractor.get(`/notebooks/${note}`);
  await contractor.get(`/folders?location=${location}&type=notes`);
  await contractor.get(`/notebooks/${hidden}`).refused(403);
  await contractor.put(`/notebooks/${note}`, { name: "z" }).refused(403);
  await contractor.post("/notebooks", { name: "z", location }).refused(403);
  await contractor.put("/folders/rename", { folder_id: folder, name: "z", ...NOTEBOOK_FOLDERS }).refused(403);
  await contractor.delete(`/folders/${folder}?recursive=true`).refused(403);
  await contractor.get("/commands").refused(403);
  await contractor.post("/commands", sql("default")).refused(403);
});
