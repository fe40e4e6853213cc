import { beforeAll, describe, expect, test } from "vitest";
import { isRecord } from "../src/http/lenient.ts";
import { endpoints } from "../src/routes.ts";
import type { Reply } from "./support/client.ts";
import { useServer, type AccountClient } from "./support/given.ts";
import { filledPath, pathParameters, sampleObject } from "./support/sample-input.ts";

/**
 * Two accounts that never see each other: wherever an id can stand, one of the other account answers byte for byte as
 * one that never was, and nothing of the other account changes. Generated from the endpoints' data; a new path
 * parameter only needs an own object below.
 */
const given = useServer({ settings: { HEADGATE_RATE_LIMIT: "0" } });

type Endpoint = (typeof endpoints)[number];

/** Something of the other account, and what never was of the same kind and length. */
interface Probe {
  kind: string;
  foreign: string;
  unknown: string;
}

let caller: AccountClient;
let victim: AccountClient;
let probes: Probe[] = [];
let own: Record<string, string> = {};
let before: unknown;

beforeAll(async () => {
  caller = await given.account({ name: "Caller" });
  own = await ownObjects(caller);
  await separateIds();
  victim = await given.account({ name: "victim-account", email: "victim-owner@example.test" });
  await fillVictim(victim);
  probes = await probesOf(victim);
  before = await dumpOf(victim);
});

describe("of another account", () => {
  test.each(endpoints.map((endpoint) => ({ id: endpoint.id, endpoint })))(
    "$id tells and changes nothing",
    async ({ endpoint }) => {
      expect((await send(endpoint, own, {}, {})).text).not.toContain("victim");
      for (const place of placesOf(endpoint)) {
        for (const probe of probes.filter(({ foreign }) => place.accepts(foreign))) {
          const [unknown, foreign] = [
            await send(endpoint, ...place.put(probe.unknown)),
            await send(endpoint, ...place.put(probe.foreign)),
          ];
          const name = `${endpoint.method} ${endpoint.id}, ${place.name} = ${probe.kind} ${probe.foreign}`;
          expect(comparable(foreign, probe.foreign), name).toEqual(comparable(unknown, probe.unknown));
          expect(foreign.status, name).toBeLessThan(500);
          expect(foreign.text.replaceAll(probe.foreign, ""), name).not.toContain("victim");
        }
      }
    },
  );

  test("nothing is different after all that", async () => {
    expect(await dumpOf(victim)).toEqual(before);
  });

  test("there was something to see and to change", () => {
    expect(new Set(probes.map(({ kind }) => kind)).size).toBeGreaterThanOrEqual(11);
    expect(endpoints.flatMap(placesOf).length).toBeGreaterThanOrEqual(30);
  });
});

interface Place {
  name: string;
  accepts(value: string): boolean;
  put(value: string): [params: Record<string, string>, query: Record<string, unknown>, body: Record<string, unknown>];
}

/** Path parameters, and the fields of query and body that name things. */
function placesOf(endpoint: Endpoint): Place[] {
  const inPath = pathParameters(endpoint).map((name): Place => {
    const isInteger = propertyOf(endpoint.params, name).type === "integer";
    return {
      name: `path ${name}`,
      accepts: (value) => !isInteger || /^\d+$/.test(value),
      put: (value) => [{ ...own, [name]: value }, {}, {}],
    };
  });
  const inFields = (["query", "body"] as const).flatMap((part) =>
    namingFields(endpoint[part]).map((name): Place => {
      const isInteger = propertyOf(endpoint[part], name).type === "integer";
      return {
        name: `${part} ${name}`,
        accepts: (value) => !isInteger || /^\d+$/.test(value),
        put: (value) => (part === "query" ? [own, { [name]: value }, {}] : [own, {}, { [name]: value }]),
      };
    }),
  );
  return [...inPath, ...inFields];
}

/** `after` is a cursor, not a name of something. */
const NAMING = /(^|_)(ids?|users?|members?|groups?|roles?|emails?|account|cluster|labels?|tags|name)$/;

function namingFields(schema: Endpoint["body"]): string[] {
  return Object.keys(schema?.properties ?? {}).filter(
    (name) => NAMING.test(name) && propertyOf(schema, name).type !== "object",
  );
}

function propertyOf(schema: Endpoint["body"], name: string): Record<string, unknown> {
  const property: unknown = schema?.properties[name];
  return isRecord(property) ? property : {};
}

let sent = 0;

async function send(
  endpoint: Endpoint,
  params: Record<string, string>,
  query: Record<string, unknown>,
  body: Record<string, unknown>,
): Promise<Reply> {
  sent += 1;
  const search = new URLSearchParams(
    Object.entries(query).map(([key, value]): [string, string] => [key, String(value)]),
  );
  const sample = sampleObject(endpoint.body);
  // Names are unique, so that a 409 does not hide what would have been told.
  const probe = `probe-${String(sent).padStart(6, "0")}`;
  const unique = { ...("name" in sample ? { name: probe } : {}), ...("labels" in sample ? { labels: [probe] } : {}) };
  const path = `${filledPath(endpoint, params)}?${search.toString()}`;
  const payload = endpoint.method === "GET" ? undefined : { ...sample, ...unique, ...body };
  return (isSelfHarm(endpoint, params, query, body) ? given.anonymous() : caller)
    .call(endpoint.method, path, payload)
    .reply();
}

/** The plain request of these would take away what the caller needs for the next. */
function isSelfHarm({ id, method }: Endpoint, ...given_: Record<string, unknown>[]): boolean {
  const [params, query, body] = given_;
  const isPlain = params === own && Object.keys({ ...query, ...body }).length === 0;
  return isPlain && (id === "token_reset" || method === "DELETE");
}

/** Byte-equal but for the value that was asked for, the probe's name, and what is random in every reply. */
function comparable({ status, text }: Reply, asked: string): { status: number; text: string } {
  const masked = asked.split(",").reduce((shown, part) => shown.replaceAll(part, "<asked>"), text);
  return {
    status,
    text: masked
      .replaceAll(/probe-\d{6}/g, "<name>")
      .replaceAll(/"(id|created_at|updated_at|invitation_code|authentication_token)":("[^"]*"|\d+)/g, '"$1":"<new>"'),
  };
}

async function ownObjects(account: AccountClient): Promise<Record<string, string>> {
  const { group } = await account.post("/groups", { name: "own-group" });
  const { roles: role } = await account.post("/roles", { name: "own-role", policies: "[]" });
  const member = await given.member(account);
  await account.post("/whitelist_ip", { ip_cidr: "10.0.0.1" });
  const [{ id }] = (await account.get("/whitelist_ip")).account_whitelisted_ips;
  const command = await account.post("/commands", { command_type: "SparkCommand", cmdline: "own.py" });
  const app = await account.post("/apps", { name: "own-app" });
  return {
    group_id: String(group.id),
    role_id: String(role.id),
    users: String(member.membershipId),
    ids: String(id),
    account_id: String(account.accountId),
    node_id: "00000000-0000-4000-8000-000000000000",
    cluster_id: "default",
    schema: "default",
    table: "own-table",
    command_id: String(command.id),
    app_id: String(app.id),
  };
}

async function fillVictim(account: AccountClient): Promise<void> {
  const { group } = await account.post("/groups", { name: "victim-group" });
  await account.post("/roles", { name: "victim-role", policies: "[]" });
  await account.put(`/groups/${group.id}/roles/victim-role/assign`, {});
  const member = await given.member(account, { email: "victim-member@example.test", groups: ["system-user"] });
  await given.member(account, { email: "victim-pending@example.test", state: "pending" });
  await account.put(`/groups/${group.id}/svc_users/${member.membershipId}/add`, {});
  await account.post("/whitelist_ip", { ip_cidr: "10.99.99.99" });
  await account.post("/users/invite_new", { invitee_email: "victim-invitee@example.test" });
  await account.post("/clusters", { labels: ["victim-label"], engine: { type: "local" } });
  await account.post("/apps", { name: "victim-app" });
  await account.post("/commands", {
    command_type: "SparkCommand",
    cmdline: "victim.py",
    name: "victim-command",
    tags: ["victim-tag"],
  });
}

/** Every table counts from a range of its own, so that an id of one kind is no id of the caller's of another. */
async function separateIds(): Promise<void> {
  await given.app.services.db.asSystem((tx) =>
    tx.query(
      `select setval(format('%I.%I', schemaname, sequencename), 10000 * row_number() over (order by sequencename))
         from pg_sequences where schemaname = 'public'`,
    ),
  );
}

async function probesOf(account: AccountClient): Promise<Probe[]> {
  const tables = await accountTables();
  const ids = await Promise.all(
    tables
      .filter(({ hasId }) => hasId)
      .map(async ({ name }): Promise<Probe[]> => {
        const rows = await query<{ id: number }>(
          `select id from ${name} where account_id = $1 order by id`,
          account.accountId,
        );
        return rows.slice(-1).map(({ id }) => ({ kind: name, foreign: String(id), unknown: "98765" }));
      }),
  );
  const users = await query<{ id: number }>(
    "select u.id from app_user u join membership m on m.user_id = u.id where m.account_id = $1",
    account.accountId,
  );
  const all = ids.flat();
  return [
    ...all,
    {
      kind: "list",
      foreign: all.map(({ foreign }) => foreign).join(","),
      unknown: all.map((_, at) => 98_700 + at).join(","),
    },
    ...users.slice(0, 1).map(({ id }) => ({ kind: "app_user", foreign: String(id), unknown: "98765" })),
    { kind: "account", foreign: String(account.accountId), unknown: "98765" },
    { kind: "group name", foreign: "victim-group", unknown: "absent-group" },
    { kind: "role name", foreign: "victim-role", unknown: "absent-role" },
    { kind: "label", foreign: "victim-label", unknown: "absent-label" },
    { kind: "tag", foreign: "victim-tag", unknown: "absent-tag" },
    { kind: "command name", foreign: "victim-command", unknown: "absent-command" },
    { kind: "account name", foreign: "victim-account", unknown: "absent-account" },
    { kind: "e-mail", foreign: "victim-member@example.test", unknown: "absent-member@example.test" },
    { kind: "pending e-mail", foreign: "victim-pending@example.test", unknown: "absent-pending@example.test" },
  ];
}

async function dumpOf(account: AccountClient): Promise<unknown> {
  const tables = await accountTables();
  const dump: [string, unknown][] = [];
  for (const { name } of tables) {
    dump.push([
      name,
      await query(`select to_jsonb(t) as row from ${name} t where account_id = $1 order by t::text`, account.accountId),
    ]);
  }
  dump.push(
    ["account", await query("select to_jsonb(a) as row from account a where id = $1", account.accountId)],
    [
      "app_user",
      await query(
        `select to_jsonb(u) as row from app_user u
          where exists (select from membership m where m.user_id = u.id and m.account_id = $1) order by u.id`,
        account.accountId,
      ),
    ],
  );
  return Object.fromEntries(dump);
}

async function accountTables(): Promise<{ name: string; hasId: boolean }[]> {
  return query<{ name: string; hasId: boolean }>(
    `select t.table_name as name, exists (
              select from information_schema.columns i
               where i.table_schema = 'public' and i.table_name = t.table_name and i.column_name = 'id') as "hasId"
       from information_schema.tables t
       join information_schema.columns c using (table_schema, table_name)
      where t.table_schema = 'public' and t.table_type = 'BASE TABLE' and c.column_name = 'account_id'
      order by 1`,
  );
}

async function query<Row extends object>(text: string, ...values: unknown[]): Promise<Row[]> {
  return given.app.services.db.system.query<Row>(text, values);
}
