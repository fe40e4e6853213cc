import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import { storageFolder } from "../src/accounts/account-storage.ts";
import { startHive4, type Hive4 } from "./hive-4/hive-4.ts";
import { findSparkHome, SET_UP_MS } from "./support/connect-server.ts";
import { sparkIsMissing } from "./support/spark-missing.ts";
import { useServer, type AccountClient } from "./support/given.ts";
import { HiveWriter, textStorage } from "./support/hive-writer.ts";
import { partitionsOf, refresh } from "./support/refresh.ts";

const PARTITIONS = 1200;

/** The newest supported external metastore; our own is Hive 2.3. */
describe.skipIf(sparkIsMissing)("an account with a metastore of Hive 4", () => {
  const given = useServer();
  let hive: Hive4;
  let writer: HiveWriter;
  let account: AccountClient;
  let folder: string;

  beforeAll(async () => {
    const { cacheDir } = inject("postgres");
    hive = await startHive4(await findSparkHome(cacheDir), cacheDir);
    const { port } = new URL(hive.uri.replace("thrift:", "http:"));
    writer = new HiveWriter({ host: "127.0.0.1", port: Number(port), user: "us", checkAddress: () => null });
    account = await given.account();
    await account.put("/api/v2/accounts", { account: { metastore_uri: hive.uri } });
    folder = join(storageFolder(given.dataDir, account.accountId), "orders");
    mkdirSync(folder, { recursive: true });
    await writer.createTable({
      dbName: "default",
      tableName: "orders",
      sd: { ...textStorage([{ name: "id", type: "bigint" }]), location: `file:${folder}` },
      partitionKeys: [
        { name: "day", type: "int" },
        { name: "city", type: "string" },
      ],
      parameters: new Map([["EXTERNAL", "TRUE"]]),
      tableType: "EXTERNAL_TABLE",
    });
  }, SET_UP_MS);

  afterAll(async () => {
    writer?.close();
    await hive?.stop();
  });

  test("lists, refreshes and senses the tables in it", { timeout: 120_000 }, async () => {
    expect(await account.get("/hive/default?describe=true")).toEqual([
      {
        orders: {
          columns: [
            { name: "id", type: "bigint" },
            { name: "day", type: "int" },
            { name: "city", type: "string" },
          ],
        },
      },
    ]);
    await account.get("/hive/default/nothing").refused(404);
    await account.get("/hive/nowhere").refused(404);
    expect(await partitionsOf(account, "orders")).toEqual({});
    expect(await sensed(7, "a.b")).toBe("false");

    const names = Array.from({ length: PARTITIONS }, (_, day) => `day=${day}/city=a.b`);
    for (const name of [...names, "day=7/city=a%2Fb"]) {
      mkdirSync(join(folder, name), { recursive: true });
      writeFileSync(join(folder, name, "rows"), "1\n");
    }
    const { added } = await refresh(account, "orders");
    expect(Object.keys(added)).toHaveLength(PARTITIONS + 1);
    expect(await partitionsOf(account, "orders")).toEqual(added);
    expect((await refresh(account, "orders")).added).toEqual({});
    expect([await sensed(7, "a.b"), await sensed(7, "a/b"), await sensed(7, "axb")]).toEqual(["true", "true", "false"]);
    expect(await sensed(PARTITIONS, "a.b")).toBe("false");
  });

  async function sensed(day: number, city: string): Promise<string> {
    const columns = [
      { column: "city", values: [city] },
      { column: "day", values: [day] },
    ];
    const { status } = await account.post("/sensors/partition_sensor", { schema: "default", table: "orders", columns });
    return status;
  }
});
