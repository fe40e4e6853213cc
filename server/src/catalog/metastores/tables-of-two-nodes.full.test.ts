import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { useSeaweedFs } from "../../../test/seaweedfs/seaweedfs.ts";
import { urlOf } from "../../../test/support/admin-cli.ts";
import { findSparkHome, SET_UP_MS } from "../../../test/support/connect-server.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { AccountClient } from "../../../test/support/given.ts";
import { javaBelow, metastoreOf } from "../../../test/support/java-process.ts";
import { startNode, type NodeProcess } from "../../../test/support/node-process.ts";
import { foundSparkAccount, SPARK_SETTINGS } from "../../../test/support/spark-server.ts";
import { statusOf, submitSql } from "../../../test/support/spark.ts";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { openDatabase, type Database } from "../../db/database.ts";
import { newKey, writeKeys } from "../../lib/key-ring.ts";

const PATIENCE = { timeout: 240_000, interval: 250 };
const email = "nodes@example.test";
const NAMES = ["one", "other"] as const;
type Name = (typeof NAMES)[number];

describe.skipIf(sparkIsMissing)("two nodes, each with a metastore of the same account", () => {
  const seaweedFs = useSeaweedFs();
  const base = mkdtempSync(join(tmpdir(), "headgate-two-nodes-"));
  const nodes = new Map<Name, NodeProcess>();
  let database: TestDatabase;
  let db: Database;
  let account: AccountClient;

  beforeAll(async () => {
    chmodSync(base, 0o711);
    await findSparkHome(inject("postgres").cacheDir);
    writeKeys(join(base, "keys"), [newKey([])]);
    database = await cloneDatabase();
    db = openDatabase({ ...database.connection, max: 2 });
    const { accountId, token } = await foundSparkAccount(database.connection, email);
    for (const name of NAMES) nodes.set(name, await start(name));
    // Only a node that has registered can be paused.
    await vi.waitFor(async () => expect(await db.system.query("select from node")).toHaveLength(2), PATIENCE);
    account = new AccountClient(nodes.get("one")?.url ?? "", token, accountId, email);
    // On S3, as a node cannot read the other one's local folder.
    const { endpoint, region, credentials } = seaweedFs;
    const settings = { defloc: `s3://${await seaweedFs.bucket()}/`, storage_endpoint: endpoint, aws_region: region };
    const keys = { storage_access_key: credentials.accessKeyId, storage_secret_key: credentials.secretAccessKey };
    await account.put("/api/v2/accounts", { account: { ...settings, ...keys } });
  }, SET_UP_MS);

  afterAll(async () => {
    for (const node of nodes.values()) await node.stopEverything();
    await db.close();
    await database.drop();
    rmSync(base, { recursive: true, force: true });
  });

  it("create its schema once when both start at the same time", async () => {
    const ids = [];
    for (const name of NAMES) {
      await only(name);
      const { id } = await submitSql(account, "show schemas");
      await vi.waitFor(async () => expect(await statusOf(account, id)).toBe("running"), PATIENCE);
      ids.push(id);
    }
    for (const id of ids) expect(await resultsOf(id)).toBe("default\r\n");
    const pids = await Promise.all(NAMES.map(metastorePid));
    expect(new Set(pids).size).toBe(2);
  });

  it("see each other's tables and rows", async () => {
    await run("one", "create table shared (n int) using parquet; insert into shared values (1)");
    expect(await run("other", "select n from shared")).toBe("1\r\n");
    await run("other", "insert into shared values (2); create schema more; create table more.t as select 3 as n");
    expect(await run("one", "select sum(n) from (select n from shared union all select n from more.t)")).toBe("6\r\n");
    await run("one", "alter table shared add columns (s string)");
    expect(await run("other", "describe shared")).toContain("s\tstring");
    await run("other", "drop table shared");
    expect(await run("one", "show tables")).toBe("");
  });

  it("create a table once when both create it at the same time", async () => {
    const ids = [];
    for (const name of NAMES) {
      await only(name);
      const { id } = await submitSql(account, "create table if not exists raced (n int) using parquet");
      await vi.waitFor(async () => expect(await statusOf(account, id)).not.toBe("waiting"), PATIENCE);
      ids.push(id);
    }
    for (const id of ids) await resultsOf(id);
    expect(await run("other", "show tables")).toBe("default\traced\tfalse\r\n");
  });

  function start(name: Name): Promise<NodeProcess> {
    const dataDir = join(base, name);
    mkdirSync(dataDir, { recursive: true, mode: 0o711 });
    // Java supports only TCP.
    return startNode(
      dataDir,
      { ...database.connection, host: "127.0.0.1" },
      {
        HEADGATE_CACHE_DIR: inject("postgres").cacheDir,
        HEADGATE_KEY_FILE: join(base, "keys"),
        DATABASE_URL: urlOf(database),
        ...SPARK_SETTINGS,
      },
    );
  }

  /** Pauses the other node, so that only this one runs commands. */
  async function only(name: Name): Promise<void> {
    const id = readFileSync(join(base, name, "node-id"), "utf8").trim();
    await db.system.query("update node set state = case when id = $1 then 'active' else 'paused' end", [id]);
  }

  async function run(name: Name, sql: string): Promise<string> {
    await only(name);
    const { id } = await submitSql(account, sql);
    return resultsOf(id);
  }

  async function resultsOf(id: number): Promise<string> {
    await vi.waitFor(async () => expect(await statusOf(account, id)).toMatch(/done|error/), PATIENCE);
    const { error_log: log } = await account.get(`/commands/${id}/error_logs`);
    expect(await statusOf(account, id), log).toBe("done");
    const { results } = await account.get(`/commands/${id}/results`);
    return results;
  }

  async function metastorePid(name: Name): Promise<number> {
    return javaBelow(await metastoreOf(join(base, name), account.accountId).pid());
  }
});
