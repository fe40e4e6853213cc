import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { Client, type Pool } from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { SET_UP_MS } from "../../../test/support/connect-server.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { textStorage } from "../../../test/support/hive-writer.ts";
import { metastoreFlaws, NO_FLAWS } from "../../../test/support/metastore-rows.ts";
import { asExternal } from "../../../test/support/partitioned-tables.ts";
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

/** On a PostgreSQL of its own: a kill -9 of one of its processes ends all connections. */
describe.skipIf(sparkIsMissing)("partitions that are being added", () => {
  let cluster: ScratchCluster;
  let client: HiveClient;
  let pool: Pool;
  // Declared before the metastore's hooks, so that it runs after them.
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

  it("by Thrift are complete or missing when the metastore is killed, and the next attempt adds the rest", async () => {
    const { table, all } = await given("killed", 3000);
    const adding = new ExternalPartitions(client, asExternal(table)).add(all, never).catch((error: unknown) => error);
    await vi.waitFor(async () => expect(await count(table)).toBeGreaterThanOrEqual(500), PATIENCE);
    await metastore.kill();
    expect(await adding).toMatchObject({ code: "unavailable" });
    const existing = await count(table);
    expect(existing).toBeLessThan(3000);
    expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);

    await metastore.startAgain();
    const next = new ExternalPartitions(client, asExternal(table));
    const rest = await next.missing(all, never);
    expect(rest).toHaveLength(3000 - existing);
    await next.add(rest, never);
    expect(await count(table)).toBe(3000);
    expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
  });

  it("by Thrift are added by the same attempt when the metastore comes back", async () => {
    const { table, all } = await given("back", 3000);
    const adding = new ExternalPartitions(client, asExternal(table)).add(all, never);
    await vi.waitFor(async () => expect(await count(table)).toBeGreaterThanOrEqual(500), PATIENCE);
    await metastore.kill();
    await metastore.startAgain();
    await adding;
    expect(await count(table)).toBe(3000);
    expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
  });

  it("by SQL need no running metastore, which lists them when it is started again", async () => {
    const { table, all } = await given("without", 1000);
    await metastore.kill();
    const partitions = new OwnPartitions(metastore, table);
    expect(await partitions.add(all, never)).toHaveLength(1000);
    await partitions.close();
    await metastore.startAgain();
    expect(await client.partitionNames("default", table.name, {}, never)).toHaveLength(1000);
    expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
  });

  it.each(ROUNDS)("by SQL are all added even if PostgreSQL is killed while they are written (%i)", async (round) => {
    const { table, all } = await given(`crashed_${round}`, 25_000, false);
    const partitions = new OwnPartitions(metastore, table);
    const adding = partitions.add(all, never);
    // In a later batch: the first ones are committed, and some rows of this one are written.
    await vi.waitFor(async () => expect(await count(table)).toBeGreaterThanOrEqual(1), PATIENCE);
    process.kill(await adderPid(round), "SIGKILL");
    await vi.waitFor(async () => expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS), PATIENCE);
    expect((await partitions.missing(all, never)).length).toBeLessThan(25_000); // read during the recovery
    expect(await adding).toHaveLength(25_000); // including those whose commit was not acknowledged
    expect(await count(table)).toBe(25_000);
    await partitions.close();
    expect(await metastoreFlaws(pool)).toEqual(NO_FLAWS);
    // The metastore must reconnect, too.
    expect(await client.partitionNames("default", table.name, {}, never)).toHaveLength(25_000);
  });

  it("are compared with the existing ones when PostgreSQL is back", async () => {
    const { table, all } = await given("without", 1000, false);
    const partitions = new OwnPartitions(metastore, table);
    await cluster.stop();
    const missing = partitions.missing([...all, { values: ["-1"], location: "file:/none" }], never);
    await cluster.start();
    expect(await missing).toHaveLength(1);
  });

  /** Waits until a writer runs that statement of a batch. */
  async function adderPid(statement: number): Promise<number> {
    const tables = ["PARTITIONS", "SDS", "SERDES", "PARTITION_KEY_VALS", "PARTITION_PARAMS"];
    return vi.waitFor(
      async () => {
        const { rows } = await pool.query<{ pid: number }>(
          `select pid from pg_stat_activity where application_name = 'adder' and state = 'active'
            and (query like $1 or query = 'commit')`,
          [`insert into "${tables[statement - 1] ?? ""}"%`],
        );
        if (rows[0] === undefined) throw new Error("no writer yet");
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
    if (table === undefined) throw new Error("the table does not exist");
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
