import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { findSparkHome, SET_UP_MS } from "../../../test/support/connect-server.ts";
import { AccountClient } from "../../../test/support/given.ts";
import { startNode, type NodeProcess } from "../../../test/support/node-process.ts";
import { makeScratchCluster, type ScratchCluster } from "../../../test/support/scratch-cluster.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { foundSparkAccount, SPARK_SETTINGS } from "../../../test/support/spark-server.ts";
import { runSql, statusOf, submitSql } from "../../../test/support/spark.ts";
import { migrate } from "../../db/migrate.ts";
import { newKey, writeKeys } from "../../lib/key-ring.ts";

const PATIENCE = { timeout: 240_000, interval: 100 };
const ROUNDS = 10;

describe.skipIf(sparkIsMissing)("a script that runs while PostgreSQL is stopped", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "headgate-outage-"));
  const { cacheDir } = inject("postgres");
  let cluster: ScratchCluster;
  let connection: { host: string; port: number; user: string; password: string; database: string };
  let node: NodeProcess;
  let account: AccountClient;

  beforeAll(async () => {
    chmodSync(dataDir, 0o711);
    await findSparkHome(cacheDir);
    cluster = makeScratchCluster(cacheDir);
    const { port, user, password, database } = await cluster.start();
    connection = { host: "127.0.0.1", port, user, password, database };
    await migrate(connection);
    writeKeys(join(dataDir, "keys"), [newKey([])]);
    const email = "outage@example.test";
    const { accountId, token } = await foundSparkAccount(connection, email);
    node = await startNode(dataDir, connection, { HEADGATE_CACHE_DIR: cacheDir, ...SPARK_SETTINGS });
    account = new AccountClient(node.url, token, accountId, email);
    await runSql(
      account,
      `create table kept (n int) using parquet; insert into kept values (7);
       create table parts (n int, day string) using parquet partitioned by (day);
       insert into parts values (1, 'a'), (2, 'b')`,
    );
  }, SET_UP_MS);

  afterAll(async () => {
    await node.stopEverything();
    await cluster.dispose();
    rmSync(dataDir, { recursive: true, force: true });
  });

  /** Each would lose data or fail if the metastore reported an existing table or partition as missing. */
  const round = (n: number): string[] => [
    "select count(*) from kept",
    "create table if not exists kept (n int) using parquet",
    `insert overwrite parts partition (day = 'b') values (${n})`,
    `insert overwrite parts values (${n}, 'c')`,
    "alter table parts add if not exists partition (day = 'a')",
    "select assert_true(count(*) = 1) from parts where day = 'a'",
    "show partitions parts",
    "drop table if exists nothing",
  ];

  it.each([5, 9, 13, 17, 21, 26])(
    "finds all tables and partitions after an outage of %i s",
    { timeout: 600_000 },
    async (seconds) => {
      const mark = `started_${seconds}`;
      const statements = [
        "set spark.sql.sources.partitionOverwriteMode = dynamic",
        `create table ${mark} (n int) using parquet`,
        ...Array.from({ length: ROUNDS }, (_, n) => round(n)).flat(),
        "select (select sum(n) from kept), (select max(n) from parts where day = 'a'), count(*) from parts",
      ];
      const { id } = await submitSql(account, statements.join(";\n"));
      await vi.waitFor(async () => expect(await exists(mark)).toBe(true), PATIENCE);
      process.kill((await cluster.postmasterPid()) ?? 0, "SIGQUIT"); // as `pg_ctl stop -m immediate`
      await cluster.stop();
      await delay(seconds * 1000); // the fault itself
      await cluster.start();
      await vi.waitFor(async () => expect(await statusOf(account, id)).toMatch(/done|error/), PATIENCE);
      const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
      expect(log).not.toMatch(/NOT_FOUND|not found|does not exist|ALREADY_EXISTS/i);
      // A commit that was interrupted fails the script with this message.
      const end = (await statusOf(account, id)) === "error" ? log : "it is unknown whether that took effect";
      expect(end).toContain("it is unknown whether that took effect");
      const { id: last } = await runSql(account, statements.at(-1) ?? "");
      expect((await account.get(`/commands/${last}/results`)).results).toBe("7\t1\t3\r\n");
    },
  );

  async function exists(table: string): Promise<boolean> {
    const client = new Client({ ...connection, database: `${connection.database}_metastore_${account.accountId}` });
    await client.connect();
    try {
      return (await client.query(`select from "TBLS" where "TBL_NAME" = $1`, [table])).rowCount === 1;
    } finally {
      await client.end();
    }
  }
});
