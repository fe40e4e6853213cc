import { Client, type ClientConfig } from "pg";
import { afterAll, afterEach, describe, expect, inject, test } from "vitest";
import { makeScratchCluster } from "../../../test/support/scratch-cluster.ts";
import { backgroundWork, requestWork } from "../../db/work-limits.ts";
import { Secret } from "../../lib/secret.ts";
import { MetastoreDatabases, type MetastoreLogin } from "./metastore-databases.ts";
import { MetastoreReaders } from "./metastore-readers.ts";
import { planConnectionLimits } from "./role-connections.ts";

describe("the connections of metastores' roles", () => {
  const limitsOf = (connections: number, reserved: number, inUse: number, idle: number): number[] => {
    const roles = Array.from({ length: inUse + idle }, (_, number) => ({ name: `${number}`, isInUse: number < inUse }));
    return [...planConnectionLimits({ connections, reserved }, roles).values()];
  };

  test.each([
    ["PostgreSQL reserves all that the product needs", limitsOf(97, 56, 50, 50), Array(100).fill(48)],
    ["one has all that is left", limitsOf(97, 0, 0, 1), [41]],
    ["all have the same where it is enough for all", limitsOf(97, 0, 1, 3), [10, 10, 10, 10]],
    ["what is reserved counts for the product", limitsOf(97, 20, 0, 4), [15, 15, 15, 15]],
    ["a role has no use for more", limitsOf(497, 0, 0, 4), [48, 48, 48, 48]],
    ["those in use have more where it is not enough for all", limitsOf(97, 0, 2, 4), [14, 14, 3, 3, 3, 3]],
    ["idle ones have none where there are very many", limitsOf(97, 0, 1, 49), [41, ...Array<number>(49).fill(0)]],
    ["a small server lets one metastore work", limitsOf(20, 0, 1, 1), [8, 2]],
  ])("%s", (_, limits, expected) => {
    expect(limits).toEqual(expected);
  });

  test("never take together what the product needs", () => {
    for (const connections of [66, 97, 200]) {
      for (const reserved of [0, 3, 30, 55]) {
        for (const [inUse, idle] of [1, 2, 5, 30, 200].flatMap((one) => [0, 1, 7, 300].map((other) => [one, other]))) {
          const sum = limitsOf(connections, reserved, inUse ?? 0, idle ?? 0).reduce((all, limit) => all + limit, 0);
          expect(sum).toBeLessThanOrEqual(connections - (56 - reserved));
        }
      }
    }
  });
});

const cluster = makeScratchCluster(inject("postgres").cacheDir);
const held: Client[] = [];

afterEach(async () => {
  await endHeld();
  await cluster.stop();
});
afterAll(() => cluster.dispose());

async function endHeld(): Promise<void> {
  await Promise.all(held.splice(0).map((client) => client.end().catch(() => undefined)));
}

/** As a metastore that has gone mad: as many as it gets. */
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

/** As many as two nodes need for their work, all at once. */
async function serveTwoNodes(connection: ClientConfig): Promise<void> {
  const needed = 2 * (requestWork.connections + backgroundWork.connections);
  const clients = Array.from({ length: needed }, () => new Client(connection));
  held.push(...clients);
  await Promise.all(clients.map((client) => client.connect()));
}

const password = new Secret("password");

test.each([
  ["the embedded server reserves some", { max_connections: "110", reserved_connections: "60" }],
  [
    "limits of the roles keep some free on a server that reserves none",
    { max_connections: "100", reserved_connections: "0" },
  ],
])("metastores together cannot crowd out the product: %s", async (_, settings) => {
  const { socketDir, ...rest } = await cluster.start(settings);
  const connection = { ...rest, host: socketDir };
  const databases = new MetastoreDatabases({ connection, isEmbedded: true });
  const logins: MetastoreLogin[] = [];
  for (const accountId of [1, 2, 3]) logins.push(await databases.provide(accountId, password));
  await databases.fitConnectionLimits();
  let taken = 0;
  for (const login of logins) taken += await takeAll(login);
  expect(taken).toBeGreaterThan(24);
  await serveTwoNodes(connection);
});

test("many metastores on a server that reserves too few share what it can spare, whoever came first", async () => {
  const { socketDir, ...rest } = await cluster.start({ max_connections: "70", reserved_connections: "8" });
  const connection = { ...rest, host: socketDir };
  const databases = new MetastoreDatabases({ connection, isEmbedded: true });
  await addIdleRoles(connection, 6);
  await databases.fitConnectionLimits();
  expect(await takeAll(await databases.provide(1, password))).toBe(10);
  expect(await takeAll(await databases.provide(2, password))).toBe(5);
  expect(await takeAll(await databases.provide(3, password))).toBe(3);
  await serveTwoNodes(connection);

  // An account whose role may not connect gets its connections back when it needs them.
  await endHeld();
  await expect
    .poll(async () => {
      await databases.fitConnectionLimits();
      return limits(connection);
    })
    .toEqual([0]);
  const client = await databases.connect(3, password);
  held.push(client);
  expect((await client.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
  expect(await limits(connection)).toEqual([0, 10]);
  const readers = new MetastoreReaders({ databases, catalogs: { findPassword: () => Promise.resolve(password) } });
  const reads = Array.from({ length: 4 }, () => readers.of(2).query("select 1 as one"));
  expect(await Promise.all(reads)).toEqual(reads.map(() => [{ one: 1 }]));
  expect(await limits(connection)).toEqual([0, 5]);
  await readers.close();
});

/** Of accounts whose databases do not matter here. */
async function addIdleRoles(connection: ClientConfig & { database: string }, count: number): Promise<void> {
  const client = new Client(connection);
  await client.connect();
  for (let each = 0; each < count; each += 1) {
    await client.query(`create role ${connection.database}_metastore_${100 + each} login`);
  }
  await client.end();
}

/** Of the roles, each once. */
async function limits(connection: ClientConfig): Promise<number[]> {
  const client = new Client(connection);
  await client.connect();
  try {
    const { rows } = await client.query<{ limit: number }>(
      "select distinct rolconnlimit as limit from pg_roles where rolname like '%\\_metastore\\_%' order by 1",
    );
    return rows.map(({ limit }) => limit);
  } finally {
    await client.end();
  }
}
