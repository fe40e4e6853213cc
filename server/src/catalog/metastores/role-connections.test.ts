import { Client, type ClientConfig } from "pg";
import { afterAll, describe, expect, inject, test } from "vitest";
import { makeScratchCluster } from "../../../test/support/scratch-cluster.ts";
import { openDatabase } from "../../db/database.ts";
import { requestWork } from "../../db/work-limits.ts";
import { Secret } from "../../lib/secret.ts";
import { MetastoreDatabases, type MetastoreLogin } from "./metastore-databases.ts";
import { connectionsPerRole } from "./role-connections.ts";

describe("the connections of one metastore's role", () => {
  test.each([
    [{ connections: 97, isReserved: true, roles: 100 }, 48],
    [{ connections: 97, isReserved: false, roles: 1 }, 41],
    [{ connections: 97, isReserved: false, roles: 4 }, 10],
    [{ connections: 497, isReserved: false, roles: 4 }, 48],
    [{ connections: 497, isReserved: false, roles: 20 }, 22],
    [{ connections: 20, isReserved: false, roles: 1 }, 10],
  ])("of %j are %i", (room, expected) => {
    expect(connectionsPerRole(room)).toBe(expected);
  });
});

const cluster = makeScratchCluster(inject("postgres").cacheDir);
afterAll(() => cluster.dispose());

const held: Client[] = [];

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

async function serves(connection: ClientConfig): Promise<unknown[]> {
  const db = openDatabase(connection, { work: requestWork });
  try {
    // All connections of a node at once.
    const all = Array.from({ length: requestWork.connections }, () =>
      db.asSystem((tx) => tx.query("select 1 as one from pg_sleep(0.2)")),
    );
    return (await Promise.all(all)).flat();
  } finally {
    await db.close();
  }
}

test.each([
  ["the embedded server reserves some", { max_connections: "80", reserved_connections: "24" }],
  [
    "limits of the roles keep some free on a server that reserves none",
    { max_connections: "100", reserved_connections: "0" },
  ],
])("metastores together cannot crowd out the product: %s", async (_, settings) => {
  const { socketDir, ...rest } = await cluster.start(settings);
  const connection = { ...rest, host: socketDir };
  const databases = new MetastoreDatabases({ connection, isEmbedded: true });
  const logins: MetastoreLogin[] = [];
  for (const accountId of [1, 2, 3]) logins.push(await databases.provide(accountId, new Secret("password")));
  await databases.fitConnectionLimits();
  let taken = 0;
  for (const login of logins) taken += await takeAll(login);
  expect(taken).toBeGreaterThan(24);
  expect(await serves(connection)).toHaveLength(requestWork.connections);
  await Promise.all(held.splice(0).map((client) => client.end()));
  await cluster.stop();
});
