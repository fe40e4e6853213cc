import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Client, type Pool } from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { SET_UP_MS } from "../../../test/support/connect-server.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { textStorage } from "../../../test/support/hive-writer.ts";
import { metastoreFlaws, NO_FLAWS } from "../../../test/support/metastore-rows.ts";
import { asBrought } from "../../../test/support/partitioned-tables.ts";
import { makeScratchCluster, type ScratchCluster } from "../../../test/support/scratch-cluster.ts";
import { useMetastore } from "../../../test/support/use-metastore.ts";
import type { HiveClient } from "../../engines/hive-thrift/hive-client.ts";
import { OwnTables } from "../tables/own-tables.ts";
import type { CatalogTable } from "../tables/table-catalog.ts";
import { ExternalPartitions } from "./external-partitions.ts";
import { OwnPartitions } from "./own-partitions.ts";
import type { FoundPartition } from "./table-partitions.ts";

const PATIENCE = { timeout: 120_000, interval: 20 };
const ROUNDS = [1, 2, 3, 4, 5];
const never = new AbortController().signal;

/** On a PostgreSQL of its own: a kill -9 of one of its processes ends everybody's connections. */
describe.skipIf(sparkIsMissing)("partitions that are being added", () => {
  let cluster: ScratchCluster;
  let client: HiveClient;
  let pool: Pool;
  // Before those of the metastore: what is set up first is taken down last.
  afterAll(() => cluster?.dispose());

  const metastore = useMetastore(async () => {
    cluster = makeScratchCluster(inject("postgres").cacheDir);
    const { port, user, password, socketDir: host } = await cluster.start();
    const server = { port, user, password, host };
    const maintenance = new Client({ ...server, database: "headgate" });
    await maintenance.connect();
    await maintenance.query("create database tables");
    await maintenance.end();
    return { connection: { ...server, database: "tables" }, drop: () => Promise.resolve() };
  });

  beforeAll(async () => {
    ({ client, pool } = metastore);
    for (const name of ["killed", "back", "without", ...ROUNDS.map((round) => `crashed_${round}`)]) await create(name);
  }, SET_UP_MS);

  it("by Thrift are complete as far as they came when the metastore is killed, and the next attempt adds the rest", async () => {
    const { table, all } = await given("killed", 3000);
    const adding = new ExternalPartitions(client, asBrought(table)).add(all, never).catch((error: unknown) => error);
    await vi.waitFor(async () => expect(await count(table)).toBeGreaterThanOrEqual(500), PATIENCE);
    await metastore.kill();
    expect(await adding).toMatchObject({ code: "unavailable" });
    const there = await count(table);
    expect(there).toBeLessThan(3000);
    expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);

    await metastore.startAgain();
    const next = new ExternalPartitions(client, asBrought(table));
    const rest = await next.missing(all, never);
    expect(rest).toHaveLength(3000 - there);
    await next.add(rest, never);
    expect(await count(table)).toBe(3000);
    expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
  });

  it("by Thrift are added by the same attempt when the metastore comes back", async () => {
    const { table, all } = await given("back", 3000);
    const adding = new ExternalPartitions(client, asBrought(table)).add(all, never);
    await vi.waitFor(async () => expect(await count(table)).toBeGreaterThanOrEqual(500), PATIENCE);
    await metastore.kill();
    await metastore.startAgain();
    await adding;
    expect(await count(table)).toBe(3000);
    expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
  });

  it("by SQL need no metastore, which knows them when it comes back", async () => {
    const { table, all } = await given("without", 1000);
    await metastore.kill();
    const partitions = new OwnPartitions(metastore, table);
    expect(await partitions.add(all, never)).toHaveLength(1000);
    await partitions.close();
    await metastore.startAgain();
    expect(await client.partitionNames("default", table.name, {}, never)).toHaveLength(1000);
    expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
  });

  it.each(ROUNDS)("by SQL are all there when PostgreSQL is killed in the middle (%i)", async (round) => {
    const { table, all } = await given(`crashed_${round}`, 25_000, false);
    const partitions = new OwnPartitions(metastore, table);
    const adding = partitions.add(all, never);
    // Of a later batch: the first ones are there, and something of this one is written.
    await vi.waitFor(async () => expect(await count(table)).toBeGreaterThanOrEqual(1), PATIENCE);
    process.kill(await adderPid(round), "SIGKILL");
    await vi.waitFor(async () => expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS), PATIENCE);
    expect((await partitions.missing(all, never)).length).toBeLessThan(25_000); // asked in the middle of it
    expect(await adding).toHaveLength(25_000); // also those of which PostgreSQL could not say that they are there
    expect(await count(table)).toBe(25_000);
    await partitions.close();
    expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
    // The metastore's own connections have died, too.
    expect(await client.partitionNames("default", table.name, {}, never)).toHaveLength(25_000);
  });

  it("are compared with what is there when PostgreSQL comes back", async () => {
    const { table, all } = await given("without", 1000, false);
    const partitions = new OwnPartitions(metastore, table);
    await cluster.stop();
    const asked = partitions.missing([...all, { values: ["-1"], location: "file:/none" }], never);
    await cluster.start();
    expect(await asked).toHaveLength(1);
  });

  /** When it is at so many of the statements of a batch. */
  async function adderPid(statement: number): Promise<number> {
    const tables = ["PARTITIONS", "SDS", "SERDES", "PARTITION_KEY_VALS", "PARTITION_PARAMS"];
    return vi.waitFor(
      async () => {
        const { rows } = await pool.query<{ pid: number }>(
          `select pid from pg_stat_activity where application_name = 'adder' and state = 'active'
            and (query like $1 or query = 'commit')`,
          [`insert into "${tables[statement - 1] ?? ""}"%`],
        );
        if (rows[0] === undefined) throw new Error("not there yet");
        return rows[0].pid;
      },
      { timeout: 60_000, interval: 1 },
    );
  }

  async function given(
    name: string,
    partitions: number,
    withFolders = true,
  ): Promise<{ table: CatalogTable; all: FoundPartition[] }> {
    const table = await new OwnTables(metastore.reader).table("default", name);
    if (table === undefined) throw new Error("not there");
    const all = Array.from({ length: partitions }, (_, index) => {
      const folder = join(metastore.warehouse, name, `n=${index}`);
      if (withFolders) mkdirSync(folder, { recursive: true });
      return { values: [String(index)], location: `file:${folder}` };
    });
    return { table, all };
  }

  async function create(name: string): Promise<void> {
    await metastore.writer.createTable({
      tableName: name,
      dbName: "default",
      owner: "us",
      sd: textStorage([{ name: "id", type: "bigint" }]),
      partitionKeys: [{ name: "n", type: "int" }],
      parameters: new Map(),
      tableType: "MANAGED_TABLE",
    });
  }

  async function count(table: CatalogTable): Promise<number> {
    const { rows } = await pool.query<{ n: number }>(
      `select count(*)::int as n from "PARTITIONS" p join "TBLS" t using ("TBL_ID") where t."TBL_NAME" = $1`,
      [table.name],
    );
    return rows[0]?.n ?? 0;
  }
});
