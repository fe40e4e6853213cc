import { mkdirSync, readdirSync, readFileSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, vi } from "vitest";
import { dumpCatalog, storeCatalog } from "./catalog-rows.ts";
import type { AccountClient, Given } from "./given.ts";
import { submitProgram } from "./programs.ts";
import { waitForCommandEnd } from "./wait-for-command-end.ts";

/**
 * An account that has one of everything. Each object is named after the account, so that a leak shows by the name. One
 * object of every named kind is called `‹account›_name`.
 */
export interface Tenant {
  account: AccountClient;
  /** The value for each path parameter, and further objects of the account. */
  objects: Record<string, string>;
  /** Its folder in the data directory. */
  storage: string;
}

/** Needs a driver that runs programs. */
export async function fillTenant(given: Given, account: AccountClient, name: string): Promise<Tenant> {
  const people = await addPeople(given, account, name);
  const cluster = await account.post("/api/v2/clusters", {
    labels: [`${name}-label`, `${name}_name`],
    engine: { type: "local" },
  });
  await account.put("/object_policy/policy", {
    source_type: "cluster",
    source_id: String(cluster.id),
    policy: JSON.stringify([{ access: "allow", action: ["manage"], condition: { svc_users: [Number(people.users)] } }]),
  });
  const { folder } = await account.post("/folders", { name: `${name}-folder`, location: "Common", type: "notes" });
  await account.post("/folders", { name: `${name}-inner`, location: `Common/${name}-folder`, type: "notes" });
  await account.put("/folders/policy", {
    folder_id: folder.id,
    type: "notes",
    policy: JSON.stringify([{ access: "allow", action: ["manage"], condition: { svc_users: [Number(people.users)] } }]),
  });
  await account.post("/folders", { name: `${name}_name`, location: "Common", type: "notes" });
  await account.post("/api/v2/apps", { name: `${name}_name` });
  const app = await account.post("/api/v2/apps", {
    name: `${name}-app`,
    config: { "spark.app.name": `${name}-config` },
  });
  const notebooks = await addNotebooks(account, name);
  const storage = join(given.dataDir, "accounts", String(account.accountId), "storage");
  const commandId = await runCommand(account, name);
  const publishing = "select from command_publishing where account_id = $1";
  await vi.waitUntil(
    async () => (await given.app.services.db.system.query(publishing, [account.accountId])).length === 0,
    { timeout: 45_000 },
  );
  writeFileSync(join(storage, `${name}-object.py`), `print('${name}-content')\n`);
  mkdirSync(join(storage, `${name}_table/day=1`), { recursive: true });
  mkdirSync(join(storage, `${name}_table/day=2`));
  writeFileSync(join(storage, `${name}_table/day=2/rows.txt`), `${name}-row\n`);
  const location = `file://${storage}/${name}_table`;
  await storeCatalog(given, account, [{ schema: `${name}_name`, table: `${name}_name`, location }]);
  return {
    account,
    storage,
    objects: {
      ...people,
      ...notebooks,
      account_id: String(account.accountId),
      email: account.email,
      cluster_id: String(cluster.id),
      folder_id: String(folder.id),
      folder: `Common/${name}-folder`,
      app_id: String(app.id),
      command_id: String(commandId),
      schema: `${name}_name`,
      table: `${name}_name`,
      label: `${name}-label`,
      path: `${name}-object.py`,
      object: `file://${storage}/${name}-object.py`,
      node_id: "00000000-0000-4000-8000-000000000000",
    },
  };
}

async function addPeople(given: Given, account: AccountClient, name: string): Promise<Record<string, string>> {
  const { group } = await account.post("/groups", { name: `${name}-group` });
  const { roles: role } = await account.post("/roles", { name: `${name}-role`, policies: "[]" });
  await account.put(`/groups/${group.id}/roles/${name}-role/assign`, {});
  const member = await given.member(account, { email: `${name}-member@example.test`, groups: ["system-user"] });
  await given.member(account, { email: `${name}-pending@example.test`, state: "pending" });
  await account.put(`/groups/${group.id}/svc_users/${member.membershipId}/add`, {});
  await account.post("/roles", { name: `${name}_name`, policies: "[]" });
  await account.post("/groups", { name: `${name}_name`, members: member.email, roles: `${name}_name` });
  await account.post("/whitelist_ip", { ip_cidr: "10.99.99.99" });
  const [{ id }] = (await account.get("/whitelist_ip")).account_whitelisted_ips;
  await account.post("/users/invite_new", { invitee_email: `${name}-invitee@example.test` });
  return {
    group_id: String(group.id),
    role_id: String(role.id),
    users: String(member.membershipId),
    ids: String(id),
  };
}

async function addNotebooks(account: AccountClient, name: string): Promise<Record<string, string>> {
  const paragraphs = [{ language: "sql", text: `select '${name}-text'` }];
  const note = await account.post("/notebooks", { name: `${name}-notebook`, location: "Common", paragraphs });
  const body = { note_id: note.id, name: `${name}-dashboard`, location: "Common" };
  const dashboard = await account.post("/notebook_dashboards", body);
  return { note_id: String(note.id), dashboard_id: String(dashboard.id) };
}

/** A command with a result, a log, and everything by which a command can be found. */
async function runCommand(account: AccountClient, name: string): Promise<number> {
  const program = `: ${name}-command; echo ${name}-result; echo ${name}-log >&2; touch "$JOURNAL"`;
  const more = { name: `${name}_name`, tags: [`${name}_name`], label: `${name}-label` };
  const id = await submitProgram(account, program, more);
  const ended = await waitForCommandEnd(account, id);
  expect(ended).toMatchObject({ status: "done", num_result_dir: 1 });
  return id;
}

/** Links from one account's storage into another's, as a program of the first could create them. */
export function linkStorage(from: Tenant, to: Tenant, names: { file: string; target: string }[]): void {
  for (const { file, target } of names) symlinkSync(join(to.storage, target), join(from.storage, file));
  symlinkSync(to.storage, join(from.storage, "linked-folder"));
}

/** Everything that is stored for the account: rows of the product, rows of its metastore, files with their contents. */
export async function dumpTenant(given: Given, { account, storage }: Tenant): Promise<unknown> {
  const rows = async (text: string): Promise<unknown[]> =>
    given.app.services.db.system.query(text, [account.accountId]);
  const tables = await accountTables(given);
  const dump: [string, unknown][] = [];
  for (const { name } of tables) {
    dump.push([name, await rows(`select to_jsonb(t) as row from ${name} t where account_id = $1 order by t::text`)]);
  }
  return {
    ...Object.fromEntries(dump),
    account: await rows("select to_jsonb(a) as row from account a where id = $1"),
    users: await rows(
      `select to_jsonb(u) as row from app_user u
        where exists (select from membership m where m.user_id = u.id and m.account_id = $1) order by u.id`,
    ),
    catalog: await dumpCatalog(given, account),
    files: filesBelow(storage),
  };
}

function filesBelow(folder: string): [path: string, content: string][] {
  return readdirSync(folder, { recursive: true, encoding: "utf8" })
    .toSorted()
    .map((path) => {
      const full = join(folder, path);
      return [path, statSync(full).isFile() ? readFileSync(full, "utf8") : ""];
    });
}

export async function accountTables(given: Given): Promise<{ name: string; hasId: boolean }[]> {
  return given.app.services.db.system.query<{ name: string; hasId: boolean }>(
    `select t.table_name as name, exists (
              select from information_schema.columns i
               where i.table_schema = 'public' and i.table_name = t.table_name and i.column_name = 'id') as "hasId"
       from information_schema.tables t
       join information_schema.columns c using (table_schema, table_name)
      where t.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.column_name = 'account_id'
      order by 1`,
  );
}
