/** An operator's PostgreSQL that accepts logins without a password, as many instructions for containers set it up. */
import { writeFileSync } from "node:fs";
import { afterAll, beforeAll, expect, inject, test } from "vitest";
import { makeScratchCluster, type ScratchCluster } from "../../../test/support/scratch-cluster.ts";
import { checkDatabaseUrl } from "../../db/check-database-url.ts";
import type { EmbeddedPostgres } from "../../db/embedded/embedded-postgres.ts";
import { Secret } from "../../lib/secret.ts";
import { MetastoreDatabases } from "./metastore-databases.ts";

let scratch: ScratchCluster;
let postgres: EmbeddedPostgres;
beforeAll(async () => {
  scratch = makeScratchCluster(inject("postgres").cacheDir);
  postgres = await scratch.start();
});
afterAll(() => scratch.dispose());

async function useMethod(method: "trust" | "scram-sha-256"): Promise<void> {
  writeFileSync(scratch.cluster.hostAccessFile, `local all all scram-sha-256\nhost all all 127.0.0.1/32 ${method}\n`);
  process.kill((await scratch.postmasterPid()) ?? 0, "SIGHUP");
}

const url = (): Secret => {
  const { user, password, port, database } = postgres;
  return new Secret(`postgres://${user}:${password}@127.0.0.1:${port}/${database}`);
};

async function warnings(): Promise<string[]> {
  const said: string[] = [];
  await checkDatabaseUrl(url(), (text) => said.push(text));
  return said;
}

test("a PostgreSQL that trusts everyone is reported at the start and refused for catalogs, with the line to write", async () => {
  await useMethod("trust");
  const line = 'Write the line "host all all 127.0.0.1/32 scram-sha-256" above all others';
  await expect.poll(warnings).toEqual([expect.stringContaining(line)]);
  const databases = new MetastoreDatabases({ connection: { connectionString: url().reveal() }, isEmbedded: false });
  const password = new Secret("0123456789abcdef");
  const refusal = `The catalog of tables is refused: PostgreSQL at 127.0.0.1:${postgres.port} lets the user`;
  for (const attempt of ["new", "existing"]) {
    await expect(databases.provide(1, password), attempt).rejects.toThrow(refusal);
    await expect(databases.provide(1, password), attempt).rejects.toThrow(line);
  }
  await useMethod("scram-sha-256");
  await expect.poll(warnings).toEqual([]);
  await expect(databases.provide(1, password)).resolves.toMatchObject({ user: "headgate_metastore_1" });
});
