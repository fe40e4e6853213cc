import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { once } from "node:events";
import { createServer as createHttp2Server } from "node:http2";
import { createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, it, vi } from "vitest";
import { findSparkHome, SET_UP_MS } from "../../../test/support/connect-server.ts";
import { AccountClient } from "../../../test/support/given.ts";
import { javaBelow, metastoreEntry, metastoreOf, warmServerOf } from "../../../test/support/java-process.ts";
import { startNode, type NodeProcess } from "../../../test/support/node-process.ts";
import { sparkIsMissing } from "../../../test/support/spark-missing.ts";
import { foundSparkAccount, SPARK_SETTINGS } from "../../../test/support/spark-server.ts";
import { runSql, statusOf, submitSql } from "../../../test/support/spark.ts";
import { cloneDatabase, type TestDatabase } from "../../../test/support/test-database.ts";
import { newKey, writeKeys } from "../../lib/key-ring.ts";

const PATIENCE = { timeout: 240_000, interval: 50 };

describe.skipIf(sparkIsMissing)("a foreign process that takes the port of a dead metastore or warm server", () => {
  const dataDir = mkdtempSync(join(tmpdir(), "headgate-foreigns-"));
  let database: TestDatabase;
  let node: NodeProcess;
  let account: AccountClient;

  beforeAll(async () => {
    chmodSync(dataDir, 0o711);
    await findSparkHome(inject("postgres").cacheDir);
    database = await cloneDatabase();
    writeKeys(join(dataDir, "keys"), [newKey([])]);
    const email = "foreigns@example.test";
    const { accountId, token } = await foundSparkAccount(database.connection, email);
    const settings = { HEADGATE_CACHE_DIR: inject("postgres").cacheDir, ...SPARK_SETTINGS };
    node = await startNode(dataDir, database.connection, settings);
    account = new AccountClient(node.url, token, accountId, email);
    await runSql(account, "create table kept (n int) using parquet; insert into kept values (7)");
  }, SET_UP_MS);

  afterAll(async () => {
    await node.stopEverything();
    await database.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });

  async function submitLongScript(): Promise<number> {
    const { id } = await submitSql(account, Array(400).fill("select sum(n) from kept").join(";"));
    await vi.waitFor(
      async () => expect((await account.get(`/commands/${id}/error_logs`)).error_log).toMatch(/done/),
      PATIENCE,
    );
    return id;
  }

  /** Kills the process and listens on its port as soon as that is free. */
  async function takePort(pid: number, port: number, foreign: Server): Promise<void> {
    process.kill(pid, "SIGKILL");
    await vi.waitFor(async () => {
      foreign.listen(port, "127.0.0.1");
      await once(foreign, "listening");
    }, PATIENCE);
  }

  it("gets no secret from the clients of a metastore", async () => {
    const { port, secret } = await metastoreEntry(dataDir, account.accountId);
    const id = await submitLongScript();
    const heard: Buffer[] = [];
    const challenge = 'realm="default",nonce="bm9uY2U=",qop="auth",charset=utf-8,algorithm=md5-sess';
    const foreign = createServer((socket) => {
      socket
        .on("error", () => undefined)
        .on("data", (chunk) => {
          heard.push(chunk);
          const head = Buffer.from([2, 0, 0, 0, challenge.length]);
          socket.write(Buffer.concat([head, Buffer.from(challenge)]));
        });
    });
    await takePort(await javaBelow(await metastoreOf(dataDir, account.accountId).pid()), port, foreign);
    try {
      const said = (): string => Buffer.concat(heard).toString("latin1");
      await vi.waitFor(() => expect(said().length).toBeGreaterThan(20), PATIENCE);
      await vi.waitFor(async () => expect(await statusOf(account, id)).toMatch(/done|error/), PATIENCE);
      expect(said()).not.toContain(secret);
      expect(said()).not.toContain(Buffer.from(secret).toString("base64"));
      // The metastore has another port and another secret now.
      await runSql(account, "select n from kept");
      expect(await metastoreEntry(dataDir, account.accountId)).not.toMatchObject({ port });
    } finally {
      foreign.close();
    }
  }, 600_000);

  it("gets neither token nor statement from the clients of a warm server", async () => {
    const server = warmServerOf(dataDir, account.accountId);
    const { port = 0 } = (await server.address()) ?? {};
    const id = await submitLongScript();
    let connections = 0;
    const foreign = createHttp2Server().on("connection", () => (connections += 1));
    await takePort(await javaBelow(await server.pid()), port, foreign);
    try {
      await vi.waitFor(async () => expect(await statusOf(account, id)).toBe("error"), PATIENCE);
      await runSql(account, "select n from kept");
      expect(connections).toBe(0);
    } finally {
      foreign.close();
    }
  }, 600_000);
});
