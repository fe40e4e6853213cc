import { Client, type ClientConfig } from "pg";
import { afterAll, afterEach, expect, inject, test } from "vitest";
import { makeScratchCluster } from "../../../test/support/scratch-cluster.ts";
import { backgroundWork } from "../../db/work-limits.ts";
import { Secret } from "../../lib/secret.ts";
import { MetastoreDatabases, type MetastoreLogin } from "./metastore-databases.ts";
import { MetastoreReaders } from "./metastore-readers.ts";
import { ROLE_IDLE_MS } from "./fit-connection-limits.ts";

const cluster = makeScratchCluster(inject("postgres").cacheDir);
const held: Client[] = [];
let connection: ClientConfig & { database: string };

afterEach(async () => {
  await endHeld();
  await dropMetastores();
  await cluster.stop();
});
afterAll(() => cluster.dispose());

async function startCluster(settings: Record<string, string>): Promise<void> {
  const { socketDir, ...rest } = await cluster.start(settings);
  connection = { ...rest, host: socketDir };
}

async function endHeld(): Promise<void> {
  await Promise.all(held.splice(0).map((client) => client.end().catch(() => undefined)));
}

/** Imitates a runaway metastore: takes as many connections as it gets. */
async function takeAll({ address: { host, port }, database, user, password }: MetastoreLogin): Promise<number> {
  for (let taken = 0; ; taken += 1) {
    const client = new Client({ host, port, database, user, password: password.reveal() });
    client.on("error", () => undefined);
    try {
      await client.connect();
      held.push(client);
    } catch {
      return taken;
    }
  }
}

/** Opens as many connections as two nodes with many cores need. */
async function serveTwoNodes(): Promise<void> {
  const needed = 2 * (16 + backgroundWork.connections);
  const clients = Array.from({ length: needed }, () => new Client(connection));
  held.push(...clients);
  await Promise.all(clients.map((client) => client.connect()));
}

const password = new Secret("password");

test.each([
  ["the embedded server reserves connections", { max_connections: "110", reserved_connections: "60" }],
  [
    "the limits of the roles leave enough free on a server that reserves none",
    { max_connections: "100", reserved_connections: "0" },
  ],
])("metastores cannot use up the connections of the product: %s", async (_, settings) => {
  await startCluster(settings);
  const databases = new MetastoreDatabases({ connection, isEmbedded: true });
  const logins: MetastoreLogin[] = [];
  for (const accountId of [1, 2, 3]) logins.push(await databases.provide(accountId, password));
  await databases.fitConnectionLimits();
  let taken = 0;
  for (const login of logins) taken += await takeAll(login);
  expect(taken).toBeGreaterThan(24);
  await serveTwoNodes();
});

test("on a server that reserves too few, metastores in use keep their connections and the next one is refused", async () => {
  await startCluster({ max_connections: "80", reserved_connections: "8" }); // room for two metastores
  let now = 0;
  const [node, otherNode] = [[], [1]].map(
    (accounts) =>
      new MetastoreDatabases({ connection, isEmbedded: true, accountsInUse: () => accounts, now: () => now }),
  ) as [MetastoreDatabases, MetastoreDatabases];
  await otherNode.provide(1, password);
  const login = await node.provide(2, password);
  expect(await takeAll(login)).toBe(10);
  const taken = [...held];

  await expect(node.provide(3, password)).rejects.toThrow(/Raise max_connections of PostgreSQL by at least 10/);
  for (let fits = 0; fits < 3; fits += 1) {
    now += ROLE_IDLE_MS;
    await node.fitConnectionLimits(); // no start needs the room, so the role of the other node keeps it
  }
  expect(await limits()).toEqual([0, 10, 10]);
  for (const client of taken) expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  await serveTwoNodes();
});

test("a metastore's role that no node has used for a while gives up its connections, and gets them back when there is room", async () => {
  await startCluster({ max_connections: "70", reserved_connections: "8" }); // room for one metastore
  let now = 0;
  const databases = new MetastoreDatabases({ connection, isEmbedded: true, now: () => now });
  await addIdleRoles(6);
  await databases.fitConnectionLimits();
  await expect(databases.provide(1, password)).rejects.toThrow("max_connections");
  now += ROLE_IDLE_MS;
  await databases.provide(1, password);
  expect(await limits()).toEqual([0, 0, 0, 0, 0, 0, 10]);

  const readers = new MetastoreReaders({ databases, catalogs: { findPassword: () => Promise.resolve(password) } });
  await expect(databases.provide(2, password)).rejects.toThrow("max_connections");
  await expect
    .poll(async () => {
      now += ROLE_IDLE_MS;
      return databases.provide(2, password).then(
        () => "provided",
        () => "refused",
      );
    })
    .toBe("provided");
  await expect(databases.connect(1, password)).rejects.toThrow("max_connections");
  await expect(readers.of(1).query("select 1 as one")).rejects.toThrow("max_connections");
  await databases.drop(2);
  const reads = Array.from({ length: 4 }, () => readers.of(1).query("select 1 as one"));
  expect(await Promise.all(reads)).toEqual(reads.map(() => [{ one: 1 }]));
  await readers.close();
});

test("a lower limit ends only idle sessions", async () => {
  await startCluster({ max_connections: "100", reserved_connections: "0" });
  const databases = new MetastoreDatabases({ connection, isEmbedded: true });
  const taken = await takeAll(await databases.provide(1, password));
  expect(taken).toBeGreaterThan(35);
  const busy = held.slice(0, 30);
  for (const client of busy) await client.query("begin");
  await databases.provide(2, password);
  expect(await limits()).toEqual([20, 20]);
  const sessions = "select from pg_stat_activity where usename like '%metastore_1'";
  await expect.poll(async () => (await query(sessions)).length).toBe(30);
  for (const client of busy) expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
});

const NAMED = String.raw`rolname like '%\_metastore\_%'`;

/** Roles without databases, which do not matter here. */
async function addIdleRoles(count: number): Promise<void> {
  for (let each = 0; each < count; each += 1) {
    await query(`create role ${connection.database}_metastore_${100 + each} login`);
  }
}

async function dropMetastores(): Promise<void> {
  const databases = new MetastoreDatabases({ connection, isEmbedded: true });
  const roles = await query<{ account: string }>(
    `select substring(rolname from '\\d+$') as account from pg_roles where ${NAMED}`,
  );
  for (const { account } of roles) await databases.drop(Number(account));
}

/** The limits of all roles, in ascending order. */
async function limits(): Promise<number[]> {
  const roles = await query<{ limit: number }>(`select rolconnlimit as limit from pg_roles where ${NAMED} order by 1`);
  return roles.map(({ limit }) => limit);
}

async function query<Row extends object>(text: string): Promise<Row[]> {
  const client = new Client(connection);
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
}
