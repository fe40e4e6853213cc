import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { afterAll, beforeAll, expect, test } from "vitest";
import { storageFolder } from "../../src/accounts/account-storage.ts";
import { AccountCatalogs } from "../../src/catalog/metastores/account-catalogs.ts";
import { SET_UP_MS } from "../support/connect-server.ts";
import { useServer, type AccountClient } from "../support/given.ts";
import { textStorage } from "../support/hive-writer.ts";
import { openToAll, type OpenMetastore } from "../support/open-metastore.ts";
import { partitionsOf, refresh } from "../support/refresh.ts";
import type { UsedMetastore } from "../support/use-metastore.ts";

/** Creates the database `shop`. */
export function testExternalMetastore(metastore: UsedMetastore): void {
  const given = useServer();
  let open: OpenMetastore;
  let account: AccountClient;

  beforeAll(async () => {
    const { writer } = metastore;
    open = await openToAll(metastore);
    await writer.createDatabase({ name: "shop", parameters: new Map() });
    await writer.createTable({
      dbName: "shop",
      tableName: "orders",
      sd: textStorage([{ name: "id", type: "bigint" }]),
      partitionKeys: [{ name: "day", type: "date" }],
      parameters: new Map(),
      tableType: "MANAGED_TABLE",
    });
    account = await given.account();
    await account.put("/api/v2/accounts", { account: { metastore_uri: open.uri } });
  }, SET_UP_MS);

  afterAll(() => open?.close());

  test("lists its tables without starting a JVM", async () => {
    const databases = await metastore.client.databaseNames(AbortSignal.timeout(60_000));
    const listed = await account.get("/hive");
    expect(listed).toEqual(databases.toSorted());
    expect(listed).toEqual(expect.arrayContaining(["default", "shop"]));
    expect(await account.get("/hive/shop?describe=true")).toEqual([
      {
        orders: {
          columns: [
            { name: "id", type: "bigint" },
            { name: "day", type: "date" },
          ],
        },
      },
    ]);
    expect(await account.get("/hive/shop/orders/table_properties")).toMatchObject({ table_type: "MANAGED_TABLE" });
    expect(await account.get("/hive/shop/orders/partitions")).toEqual([]);
    await account.get("/hive/nowhere").refused(404);
    await account.get("/hive/shop/nothing").refused(404);
  });

  test("can use partition sensors, with and without waiting", async () => {
    const ask = (day: string, waitSeconds = 0) =>
      account.post("/partition_sensor", {
        schema: "Shop",
        table: "Orders",
        columns: [{ column: "Day", values: [day] }],
        wait_seconds: waitSeconds,
      });
    expect(await ask("2026-01-31")).toEqual({ status: "false" });
    const waiting = ask("2026-1-31", 60).reply();
    const location = pathToFileURL(join(metastore.warehouse, "day=2026-01-31")).href;
    const sd = { ...textStorage([{ name: "id", type: "bigint" }]), location };
    const partition = { values: ["2026-01-31"], sd, parameters: new Map<string, string>() };
    await metastore.client.addPartitions("shop", "orders", [partition], AbortSignal.timeout(60_000));
    expect((await waiting).text).toBe('{"status":"true"}');
    expect(await ask("2026-01-31")).toEqual({ status: "true" });
    await ask("yesterday").refused(422, /^columns\[0\].values\[0\] must be a date/);
    const nothing = { schema: "shop", table: "nothing", columns: [{ column: "day", values: [1] }] };
    await account.post("/partition_sensor", nothing).refused(422, /^Table can't be found in metastore$/);
  });

  test("can refresh a table: partitions found in its folder are added to the metastore", async () => {
    const folder = join(storageFolder(given.dataDir, account.accountId), "clicks");
    await metastore.writer.createTable({
      dbName: "shop",
      tableName: "clicks",
      sd: { ...textStorage([{ name: "id", type: "bigint" }]), location: `file:${folder}` },
      partitionKeys: [
        { name: "day", type: "date" },
        { name: "city", type: "string" },
      ],
      parameters: new Map(),
      tableType: "EXTERNAL_TABLE",
    });
    for (const path of ["day=2026-11-15/city=a%2Fb", "DAY=2026-11-16/city=x", "day=never/city=x"]) {
      mkdirSync(join(folder, path), { recursive: true });
    }
    const { added, log } = await refresh(account, "clicks", { db_name: "shop" });
    expect(added).toEqual({
      "day=2026-11-15/city=a%2Fb": `file:${folder}/day=2026-11-15/city=a%2Fb`,
      "day=2026-11-16/city=x": `file:${folder}/DAY=2026-11-16/city=x`,
    });
    expect(log).toContain(`skipped: file:${folder}/day=never: its value is not a valid date`);
    expect(await partitionsOf(account, "clicks", "shop")).toEqual(added);
    expect((await refresh(account, "clicks", { db_name: "shop" })).added).toEqual({});
  });

  test("sees in the log of a refresh that the metastore cannot be reached", async () => {
    const other = await given.account();
    await other.put("/api/v2/accounts", { account: { metastore_uri: "thrift://127.0.0.1:9" } });
    const { log } = await refresh(other, "any", {}, "error");
    expect(log).toContain("The Hive metastore at 127.0.0.1:9 cannot be reached");
  });

  test("uses it as soon as the address is set, and its own metastore again when the address is removed", async () => {
    const other = await given.account();
    const { db, keys } = given.app.services;
    await new AccountCatalogs(db.system, keys).find(other.accountId); // as the account's first Spark process does
    const ask = () =>
      other.post("/partition_sensor", {
        schema: "shop",
        table: "orders",
        columns: [{ column: "day", values: ["1999-01-01"] }],
      });
    const toOurs = async (): Promise<void> => {
      for (let time = 0; time < 2; time += 1) await ask().refused(422, /^Table can't be found in metastore$/);
    };
    await toOurs();
    await other.put("/api/v2/accounts", { account: { metastore_uri: open.uri } });
    for (let time = 0; time < 2; time += 1) expect(await ask()).toEqual({ status: "false" });
    await other.put("/api/v2/accounts", { account: { metastore_uri: "" } });
    await toOurs();
  });

  test("is told when the metastore cannot be reached, and lists its own tables after removing the address", async () => {
    const other = await given.account();
    await other.put("/api/v2/accounts", { account: { metastore_uri: "thrift://127.0.0.1:9" } });
    await other.get("/hive/default").refused(503, /The Hive metastore at 127\.0\.0\.1:9 cannot be reached/);
    const asked = { schema: "default", table: "t", columns: [{ column: "day", values: [1] }], wait_seconds: 1 };
    await other.post("/partition_sensor", asked).refused(503, /The Hive metastore at 127\.0\.0\.1:9 cannot be reached/);
    await other.put("/api/v2/accounts", { account: { metastore_uri: "" } });
    expect(await other.get("/hive/default")).toEqual([]);
  });
}
