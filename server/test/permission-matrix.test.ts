/**
 * Calls every operation as every kind of caller, over HTTP. Paths and sample bodies come from the endpoints' data; the
 * expected outcome comes from the hand-written table, not from the product.
 */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { mintToken } from "../src/access/token.ts";
import { endpoints } from "../src/routes.ts";
import { Client, type Reply } from "./support/client.ts";
import { useServer, type AccountClient } from "./support/given.ts";
import { FURTHER_PERMISSIONS, PERMISSION_TABLE, type TableEntry } from "./support/permission-table.ts";
import { filledPath, pathParameters, sampleObject } from "./support/sample-input.ts";

const given = useServer({ settings: { HEADGATE_RATE_LIMIT: "0", HEADGATE_BAD_TOKEN_LIMIT: "0" } });

type Outcome = "passes" | 401 | 403 | 404;

interface Knocker {
  who: string;
  /** Whether the caller has a role made for this operation's permission. */
  hasRole?: boolean;
  client: (account: AccountClient, permission: TableEntry) => Client | Promise<Client>;
  expected: (permission: TableEntry) => Outcome;
}

/** Without an active membership only public operations are allowed. */
const never =
  (refusal: 401 | 403) =>
  (permission: TableEntry): Outcome =>
    permission === "public" ? "passes" : refusal;

/** For an active member a row of the table decides by `admits`; operators' routes are 404 for others. */
const member =
  (admits: (groups: readonly string[]) => boolean) =>
  (permission: TableEntry): Outcome => {
    if (permission === "public" || permission === "member") return "passes";
    if (permission === "operator") return 404;
    return admits(permission.groups) ? "passes" : 403;
  };

const KNOCKERS: Knocker[] = [
  { who: "no token", client: () => given.anonymous(), expected: never(401) },
  { who: "a token that never was", client: () => new Client(given.base, mintToken()), expected: never(401) },
  { who: "garbage for a token", client: () => new Client(given.base, "garbage"), expected: never(401) },
  {
    who: "a pending admin",
    client: (account) => given.member(account, { state: "pending", groups: ["system-admin"] }),
    expected: never(403),
  },
  {
    who: "a disabled admin",
    client: (account) => given.member(account, { state: "disabled", groups: ["system-admin"] }),
    expected: never(403),
  },
  { who: "a member without role", client: (account) => given.member(account), expected: member(() => false) },
  {
    who: "a member with a role that allows it",
    hasRole: true,
    client: (account, permission) => memberWithRole(account, permission, "allow", []),
    expected: member(() => true),
  },
  {
    who: "a member with a role that allows all else",
    hasRole: true,
    client: (account, permission) => memberWithRole(account, permission, "allow-others", []),
    expected: member(() => false),
  },
  {
    who: "a system-user with a role that denies it",
    hasRole: true,
    client: (account, permission) => memberWithRole(account, permission, "deny", ["system-user"]),
    expected: member(() => false),
  },
  {
    who: "a system-admin with a role that denies it",
    hasRole: true,
    client: (account, permission) => memberWithRole(account, permission, "deny", ["system-admin"]),
    expected: member(() => true),
  },
  {
    who: "a system-user",
    client: (account) => given.member(account, { groups: ["system-user"] }),
    expected: member((groups) => groups.includes("system-user")),
  },
  {
    who: "a dashboard-user",
    client: (account) => given.member(account, { groups: ["dashboard-user"] }),
    expected: member((groups) => groups.includes("dashboard-user")),
  },
  {
    who: "a system-admin",
    client: (account) => given.member(account, { groups: ["system-admin"] }),
    expected: member(() => true),
  },
  { who: "an operator", client: () => given.account({ isOperator: true }), expected: () => "passes" },
];

describe.each(endpoints.map((endpoint) => ({ id: endpoint.id, endpoint })))("$id", ({ endpoint }) => {
  test.concurrent.each(KNOCKERS)("$who", async (knocker) => {
    const permission = PERMISSION_TABLE.get(endpoint.id);
    if (permission === undefined) throw new Error(`${endpoint.id} is missing from the hand-written table`);
    const expected = knocker.expected(permission);
    const mayChange = expected === "passes" && endpoint.method !== "GET";
    const { account, client } = await (mayChange ? newCaller(knocker, permission) : sharedCaller(knocker, permission));
    const params = Object.fromEntries(
      pathParameters(endpoint).map((name) => [name, own(name) ?? String(account.accountId)]),
    );
    const query = new URLSearchParams(
      Object.entries(sampleObject(endpoint.query)).map(([key, value]): [string, string] => [key, String(value)]),
    );
    const path = `${filledPath(endpoint, params)}?${query.toString()}`;
    const body = endpoint.method === "GET" ? undefined : sampleObject(endpoint.body);
    const reply = await client.call(endpoint.method, path, body).reply();
    expect(
      outcomeOf(reply, permission, FURTHER_PERMISSIONS.get(endpoint.id)),
      `${endpoint.method} ${path}: ${reply.text}`,
    ).toBe(expected);
  });
});

interface Caller {
  account: AccountClient;
  client: Client;
}

async function newCaller({ client }: Knocker, permission: TableEntry): Promise<Caller> {
  const account = await given.account();
  return { account, client: await client(account, permission) };
}

const shared = new Map<string, Promise<Caller>>();

/** Requests that change nothing share one account per kind of caller. */
function sharedCaller(knocker: Knocker, permission: TableEntry): Promise<Caller> {
  const key = knocker.hasRole ? `${knocker.who}: ${roleOf(permission)}` : knocker.who;
  const caller = shared.get(key) ?? newCaller(knocker, permission);
  shared.set(key, caller);
  return caller;
}

function roleOf(permission: TableEntry): string {
  return typeof permission === "object" ? permission.role : "command:read";
}

/** An existing object, for operations whose permission depends on the body, which is read after the object is found. */
function own(parameter: string): string | undefined {
  if (parameter === "node_id") return readFileSync(join(given.dataDir, "node-id"), "utf8").trim();
  return parameter === "cluster_id" ? "default" : undefined;
}

/** A 403 of the handler itself means that the caller was allowed; so does a 404, except on operators' routes. */
function outcomeOf({ status, body }: Reply, permission: TableEntry, further: string | undefined): Outcome {
  expect(status).toBeLessThan(500);
  if (status === 401) return 401;
  if (status === 404 && permission === "operator") return 404;
  const message: string = body?.error?.error_message ?? "";
  const isRefusedAtTheGate = /^You may not do this: it needs|^Your user /.test(message);
  const isRefusedLater = further !== undefined && message.endsWith(`a role that allows ${further}.`);
  return status === 403 && isRefusedAtTheGate && !isRefusedLater ? 403 : "passes";
}

async function memberWithRole(
  account: AccountClient,
  permission: TableEntry,
  kind: "allow" | "deny" | "allow-others",
  groups: string[],
): Promise<Client> {
  const [resource = "", action = ""] = roleOf(permission).split(":");
  const statements = {
    allow: [{ resource, action: [action], access: "allow" }],
    deny: [
      { resource, action: [action], access: "deny" },
      { resource: "all", action: ["all"], access: "allow" },
    ],
    "allow-others": [{ resource: resource === "sensor" ? "app" : "sensor", action: ["all"], access: "allow" }],
  }[kind];
  await given.app.services.db.asSystem(async (tx) => {
    await tx.query(
      `with g as (insert into access_group (account_id, name) values ($1, 'tested') returning id),
            r as (insert into access_role (account_id, name, policy) values ($1, 'tested', $2) returning id)
       insert into access_group_role (account_id, group_id, role_id) select $1, g.id, r.id from g, r`,
      [account.accountId, JSON.stringify(statements)],
    );
  });
  return given.member(account, { groups: ["tested", ...groups] });
}
