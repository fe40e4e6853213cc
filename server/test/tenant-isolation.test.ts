/**
 * Two accounts never see each other. Wherever a request can contain an id, a name or a location, one of the other
 * account gets byte for byte the same response as one that never existed, and nothing in the other account changes. The
 * other account has one of everything: tables, results, logs, stored objects. Generated from the endpoints' data; a new
 * path parameter only needs an object in `tenants.ts`.
 */
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { beforeAll, describe, expect, test } from "vitest";
import { endpoints } from "../src/routes.ts";
import { storeCatalog } from "./support/catalog-rows.ts";
import type { Reply } from "./support/client.ts";
import { isExhaustive } from "./support/exhaustive.ts";
import { useServer, type AccountClient } from "./support/given.ts";
import { inParallel } from "./support/in-parallel.ts";
import { refresh } from "./support/refresh.ts";
import { filledPath, sampleObject } from "./support/sample-input.ts";
import { stubDriver } from "./support/stub-driver.ts";
import {
  FORMS,
  locationProbes,
  inputsOf,
  type Endpoint,
  type ProbedInput,
  type Probe,
} from "./support/tenant-probes.ts";
import { accountTables, dumpTenant, fillTenant, linkStorage, type Tenant } from "./support/tenants.ts";
import { waitForCommandEnd } from "./support/wait-for-command-end.ts";
import { REVERTING_REQUESTS, withNewNames, WORKING_BODIES, WORKING_QUERIES } from "./support/working-requests.ts";

const CONCURRENCY = 6;
const given = useServer({
  settings: { HEADGATE_RATE_LIMIT: "0", HEADGATE_BAD_TOKEN_LIMIT: "0" },
  driver: stubDriver,
});

let own: Tenant;
let victim: Tenant;
let probes: Probe[] = [];
let before: unknown;

beforeAll(async () => {
  own = await fillTenant(given, await given.account({ name: "own_name" }), "own");
  await alignIds();
  const account = await given.account({ name: "victim_name", email: "victim-owner@example.test" });
  victim = await fillTenant(given, account, "victim");
  await setNode("paused"); // the commands of the probes need not run
  linkStorage(own, victim, [
    { file: "link-to-victim-object.py", target: "victim-object.py" },
    { file: "link-to-absent-object.py", target: "absent-object.py" },
  ]);
  probes = [...(await probesOf(victim.account)), ...locationProbes(own, victim)];
  before = await dumpTenant(given, victim);
});

/** Reads come first, because the writes leave objects with the probed names in the caller's own account. */
const ordered = endpoints.toSorted((one, two) => Number(two.method === "GET") - Number(one.method === "GET"));

describe("of another account", () => {
  test.each(ordered.map((endpoint) => ({ id: endpoint.id, endpoint })))(
    "$id reveals and changes nothing",
    async ({ endpoint }) => {
      const plain = await send(endpoint, undefined, "");
      expect(plain.text).not.toContain("victim");
      expect(plain.status === 200 || isSelfHarm(endpoint) || NEVER_WORKS.has(endpoint.id), plain.text).toBe(true);
      // One input after the other: an object that one of them names like a probe must not be found by the next.
      for (const input of inputsOf(endpoint)) {
        const accepted = probes.filter((probe) => input.accepts(probe));
        const unknowns = new Map<string, Promise<Reply>>();
        /** Many probes share an unknown value, which is sent once. */
        const sendUnknown = (value: string): Promise<Reply> => {
          const reply = unknowns.get(value) ?? send(endpoint, input, value);
          unknowns.set(value, reply);
          return reply;
        };
        try {
          await inParallel(accepted, CONCURRENCY, async (probe) => {
            const [unknown, foreign] = [await sendUnknown(probe.unknown), await send(endpoint, input, probe.foreign)];
            const name = `${endpoint.method} ${endpoint.id}, ${input.name} = ${probe.foreign} of ${probe.kinds.join()}`;
            expect(comparable(foreign, probe.foreign), name).toEqual(comparable(unknown, probe.unknown));
            expect(foreign.status, name).toBeLessThan(500);
            expect(withoutAsked(foreign.text, probe.foreign), name).not.toContain("victim");
          });
        } finally {
          await removeNamesakes(endpoint);
        }
      }
    },
  );
});

describe("a copy", () => {
  test("neither reads nor writes the other account's storage, however its location is written", async () => {
    // Only the copies of this test and those of the tests below start.
    await given.app.services.db.system.query(
      "update command set due_at = now() + interval '1 day' where status = 'waiting'",
    );
    await setNode("active");
    const object = own.objects.object ?? "";
    const target = (name: string): string => `file://${own.storage}/copied-${name}/`;
    const done = await runCopy({ src: object, dest: target("own") });
    expect(done.status, done.log).toBe("done");
    expect(readdirSync(join(own.storage, "copied-own"))).toEqual(["own-object.py"]);
    // A copy is expensive. Other spellings of the same locations are tried only in `npm run test:full`.
    const probes = locationProbes(own, victim).filter(
      ({ isAlternativeSpelling }) => isExhaustive || !isAlternativeSpelling,
    );
    const sources = probes.map((probe, at) => ({
      ...probe,
      fields: (uri: string) => ({ src: uri, dest: target(`from-${at}`) }),
    }));
    const destinations = probes.map((probe) => ({ ...probe, fields: (uri: string) => ({ src: object, dest: uri }) }));
    const compare = async ({
      foreign,
      unknown,
      fields,
    }: (typeof sources | typeof destinations)[number]): Promise<void> => {
      const [found, absent] = [await runCopy(fields(foreign)), await runCopy(fields(unknown))];
      // As a destination, `%2e%2e` is the name of a folder in the own storage: copies decode nothing.
      const isOwnFolder = foreign.includes("%2e%2e") && fields(foreign).dest === foreign;
      expect(found.status, foreign).toBe(isOwnFolder ? "done" : "error");
      expect(found.log.replaceAll("victim-object.py", "absent-object.py"), foreign).toBe(absent.log);
    };
    await inParallel(sources, CONCURRENCY, compare);
    await inParallel(destinations, CONCURRENCY, compare); // may create what a source names
    expect(readdirSync(own.storage).filter((name) => name.startsWith("copied-"))).toEqual(["copied-own"]);
  });
});

async function runCopy(fields: { src: string; dest: string }): Promise<{ status: string; log: string }> {
  const { id } = await own.account.post("/commands", {
    command_type: "HadoopCommand",
    sub_command: "s3distcp",
    ...fields,
  });
  const { status } = await waitForCommandEnd(own.account, id);
  const { error_log: log } = await own.account.get(`/commands/${id}/error_logs`);
  return { status, log: log.replaceAll(TIMES, "").replaceAll(/[\d.]+ \w+\/s/g, "<rate>") };
}

describe("a table refresh", () => {
  test("of another account's table behaves like one of a table that never existed", async () => {
    const attacker = await given.account();
    const [foreign, unknown] = [
      await refresh(attacker, "victim_name", { db_name: "victim_name" }, "error"),
      await refresh(attacker, "absent_name", { db_name: "absent_name" }, "error"),
    ];
    expect(foreign.log.replaceAll("victim", "absent").replaceAll(TIMES, "")).toBe(unknown.log.replaceAll(TIMES, ""));
  });

  test("finds nothing in another account's storage, whatever location a table claims", async () => {
    const attacker = await given.account();
    const locations = locationProbes(own, victim).map(({ foreign }) =>
      foreign.replace("victim-object.py", "victim_table"),
    );
    const tables = locations.map((location, at) => ({ schema: `s${at}`, table: "t", location }));
    await storeCatalog(given, attacker, tables);
    for (const { schema, location } of tables) {
      const { log } = await refresh(attacker, "t", { db_name: schema }, "error");
      expect(log, location).not.toContain("day=2");
      expect(await attacker.get(`/hive/${schema}/t/partitions`)).toHaveLength(1);
    }
  });
});

describe("after all probes", () => {
  test("nothing in the other account has changed", async () => {
    expect(await dumpTenant(given, victim)).toEqual(before);
  });

  test("there were objects to see and to change", () => {
    expect(new Set(probes.flatMap(({ kinds }) => kinds)).size).toBeGreaterThanOrEqual(33);
    expect(endpoints.flatMap(inputsOf).length).toBeGreaterThanOrEqual(70);
  });
});

describe("the other account", () => {
  test("has something to read for every operation", async () => {
    const read = await Promise.all(
      endpoints
        .filter(({ method, access }) => method === "GET" && access.permission !== "operator")
        .map(async (endpoint) => {
          const search = new URLSearchParams(WORKING_QUERIES[endpoint.id]?.(victim.objects));
          const path = `${filledPath(endpoint, victim.objects)}?${search.toString()}`;
          const reply = await victim.account.get(path).reply();
          expect(reply.status, `${endpoint.id}: ${reply.text}`).toBe(200);
          return reply.text;
        }),
    );
    for (const secret of [
      "victim-result",
      "victim-log",
      '["default","victim_name"]', // schemas
      '["victim_name"]', // tables
      "victim_name_column",
      "parameter of victim_name",
      "victim_table/day=1",
      "victim-app",
      "victim-config",
      "victim-label",
      "victim-folder",
      "victim-inner",
      "victim-command",
      "victim-member@example.test",
      "victim-pending@example.test",
      "victim-group",
      "victim-role",
      "victim-notebook",
      "victim-text",
      "victim-dashboard",
    ]) {
      expect(read.join("\n")).toContain(secret);
    }
  });

  test("has sensors that see its table and its object", async () => {
    const day = { ...WORKING_BODIES.partition_sensor_create?.(victim.objects) };
    expect(await victim.account.post("/partition_sensor", day)).toEqual({ status: "true" });
    expect(await own.account.post("/partition_sensor", day).reply()).toMatchObject({ status: 422 });
    const files = { files: [victim.objects.object] };
    expect(await victim.account.post("/sensors/file_sensor", files)).toEqual({ status: "true" });
  });

  const forms = Object.entries(FORMS).flatMap(([id, some]) => some.map((form) => ({ id, ...form })));
  test.each(forms)("could have been found through $name of $id", async ({ id, body, works, takes }) => {
    const endpoint = endpoints.find((each) => each.id === id);
    if (endpoint === undefined) throw new Error(`no operation ${id}`);
    const value = own.objects[works ?? "object"] ?? "";
    const given = body(value, WORKING_BODIES[id]?.(own.objects) ?? {});
    const reply = await own.account.call(endpoint.method, filledPath(endpoint, own.objects), given).reply();
    const isTaken = works !== undefined;
    expect(reply.status, reply.text).toBe(isTaken ? 200 : 422);
    expect(id !== "file_sensor_create" || reply.body.status === "true").toBe(true);
    expect(isTaken || takes === "location" || id === "partition_sensor_create").toBe(true);
  });
});

/** Routes of operators, and a code that works only once. */
const NEVER_WORKS = new Set<string>([
  ...endpoints.filter(({ access }) => access.permission === "operator").map(({ id }) => id),
  "invitation_accept",
]);

/**
 * Reverts edits and removes the objects that have a probe's name, so that every operation starts from the same state.
 */
async function removeNamesakes({ id, method }: Endpoint): Promise<void> {
  if (method === "GET") return;
  const revert = REVERTING_REQUESTS[id]?.(own.objects);
  if (revert !== undefined) await own.account.put(revert.path, revert.body);
  const names = probes.flatMap(({ foreign, unknown }) => [foreign, unknown]);
  const made = await given.app.services.db.system.query<{ path: string }>(
    `select 'groups/' || id as path from access_group where account_id = $1 and name = any ($2)
     union all select 'roles/' || id from access_role where account_id = $1 and name = any ($2)
     union all select 'folders/' || id from folder where account_id = $1 and name = any ($2)
     union all select 'notebooks/' || id from note where account_id = $1 and name = any ($2)
     union all select 'notebook_dashboards/' || id from dashboard where account_id = $1 and name = any ($2)
     union all select distinct 'clusters/' || cluster_id from cluster_label where account_id = $1 and label = any ($2)`,
    [own.account.accountId, names],
  );
  for (const { path } of made) await own.account.delete(`/${path}`);
  if (id !== "file_upload") return;
  for (const name of names.filter((each) => !each.includes("/"))) {
    await own.account.delete(`/api/v2/files/${encodeURIComponent(name)}`).reply();
  }
}

async function setNode(state: "active" | "paused"): Promise<void> {
  const operator = await given.operator();
  const { nodes } = await operator.get("/api/v2/nodes");
  await operator.put(`/api/v2/nodes/${nodes[0].id}`, { state });
}

let sent = 0;

async function send(endpoint: Endpoint, input: ProbedInput | undefined, value: string): Promise<Reply> {
  sent += 1;
  const search = new URLSearchParams({ ...WORKING_QUERIES[endpoint.id]?.(own.objects), ...input?.query(value) });
  const path = `${filledPath(endpoint, { ...own.objects, ...input?.params(value) })}?${search.toString()}`;
  const works = WORKING_BODIES[endpoint.id]?.(own.objects) ?? sampleObject(endpoint.body);
  const name = `probe-${String(sent).padStart(6, "0")}`;
  const body = input?.body(value, withNewNames(works, name)) ?? works;
  const client = input === undefined && isSelfHarm(endpoint) ? given.anonymous() : own.account;
  const sentBody = endpoint.method === "GET" ? undefined : withNewNames(body, name, value);
  return client.call(endpoint.method, path, sentBody).reply();
}

/** The valid request of these operations would remove something that the caller needs for the next one. */
function isSelfHarm({ id, method }: Endpoint): boolean {
  return id === "token_reset" || method === "DELETE";
}

const TIMES = /\d{4}-\d\d-\d\d[T ][\d:.]+Z?/g;

/** The reply without the requested value, the probe's name and random parts, which differ in equal replies. */
function comparable({ status, text }: Reply, asked: string): { status: number; text: string } {
  return {
    status,
    text: withoutAsked(text, asked)
      .replaceAll(/probe-\d{6}/g, "<name>")
      .replaceAll(
        /"(id|etag|created_at|updated_at|invitation_code|authentication_token)":("[^"]*"|\d+)/g,
        '"$1":"<new>"',
      )
      .replaceAll(/"submit_time":\d+/g, '"submit_time":"<new>"')
      .replaceAll(/"waiting_reason":"[^"]*"/g, '"waiting_reason":"<of the moment>"')
      .replaceAll(/commands\/\d+\//g, "commands/<new>/")
      .replaceAll(/\/tmp\/[\d-]+\/\d+\/\d+/g, "/tmp/<new>"),
  };
}

function withoutAsked(text: string, asked: string): string {
  const parts = asked.split(",").toSorted((one, two) => two.length - one.length); // 150001 before 50001
  return [asked, encodeURIComponent(asked), ...parts].reduce((shown, part) => shown.replaceAll(part, "<asked>"), text);
}

const FOREIGN_ID = 54_321;
const UNKNOWN_ID = 98_765;

/**
 * Gives the other account's last object of every kind the same id, so that one probe covers all kinds. This works because
 * both accounts create the same number of objects. An object with another id gets a probe of its own.
 */
async function alignIds(): Promise<void> {
  await given.app.services.db.asSystem((tx) =>
    tx.query(
      `select setval(format('%I.%I', schemaname, sequencename), $1 - last_value)
         from pg_sequences where schemaname = 'public' and last_value is not null`,
      [FOREIGN_ID],
    ),
  );
}

async function probesOf({ accountId }: AccountClient): Promise<Probe[]> {
  const { system } = given.app.services.db;
  const ids = new Map([[accountId, ["account"]]]);
  const tables = (await accountTables(given)).filter(({ hasId }) => hasId);
  const users = "app_user u where exists (select from membership m where m.user_id = u.id and m.account_id = $1)";
  for (const from of [...tables.map(({ name }) => `${name} where account_id = $1`), users]) {
    const rows = await system.query<{ id: number }>(`select id from ${from} order by id`, [accountId]);
    for (const { id } of rows.slice(-1)) ids.set(id, [...(ids.get(id) ?? []), from.split(" ")[0] ?? ""]);
  }
  expect(ids.get(FOREIGN_ID)?.length).toBeGreaterThanOrEqual(12);
  const list = [...ids.keys(), FOREIGN_ID - 1];
  const named = (foreign: string, ...kinds: string[]): Probe => ({
    kinds,
    foreign,
    unknown: foreign.replace("victim", "absent"),
  });
  return [
    ...[...ids].map(([id, kinds]) => ({ kinds, foreign: String(id), unknown: String(UNKNOWN_ID) })),
    { kinds: ["list"], foreign: list.join(), unknown: list.map((_, at) => UNKNOWN_ID - at).join() },
    named("victim_name", ...NAMED),
    named("victim-object.py", "file"),
    named("Common/victim-folder", "path of folder"),
    named("Common/victim-folder/victim-inner", "path of inner folder"),
    named("Users/victim-member@example.test", "home"),
    named("victim-member@example.test", "e-mail"),
    named("victim-pending@example.test", "pending e-mail"),
    named("victim-invitee@example.test", "invited e-mail"),
  ];
}

/** The kinds of objects of the other account that share one name. */
const NAMED = "account,group,role,label,folder,tag,app,command,schema,table"
  .split(",")
  .map((kind) => `name of ${kind}`);
