import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { SET_UP_MS, sparkIsMissing } from "../../test/support/connect-server.ts";
import { useServer, type AccountClient } from "../../test/support/given.ts";
import { HiveWriter, textStorage } from "../../test/support/hive-writer.ts";
import { openToAll, type OpenMetastore } from "../../test/support/open-metastore.ts";
import { startTestMetastore, type TestMetastore } from "../../test/support/test-metastore.ts";
import { Secret } from "../lib/secret.ts";

// Says so when it is left out: Java or Python is not on this machine.
describe.skipIf(sparkIsMissing)("an account with a metastore of its own", () => {
  const given = useServer();
  let metastore: TestMetastore;
  let open: OpenMetastore;
  let writer: HiveWriter;
  let account: AccountClient;

  beforeAll(async () => {
    metastore = await startTestMetastore();
    open = await openToAll(metastore);
    const { port, secret } = metastore;
    writer = new HiveWriter({
      host: "127.0.0.1",
      port,
      checkAddress: () => null,
      user: "us",
      secret: new Secret(secret),
    });
    await writer.createDatabase({ name: "sales", parameters: new Map() });
    await writer.createTable({
      dbName: "sales",
      tableName: "orders",
      sd: textStorage([{ name: "id", type: "bigint" }]),
      partitionKeys: [{ name: "day", type: "date" }],
      parameters: new Map(),
      tableType: "MANAGED_TABLE",
    });
    account = await given.account();
    await account.put("/api/v2/accounts", { account: { metastore_uri: open.uri } });
  }, SET_UP_MS);

  afterAll(async () => {
    writer?.close();
    await open?.close();
    await metastore?.stop();
  });

  test("sees the tables in it, without any Java of ours", async () => {
    expect(await account.get("/hive")).toEqual(["default", "sales"]);
    expect(await account.get("/hive/sales?describe=true")).toEqual([
      {
        orders: {
          columns: [
            { name: "id", type: "bigint" },
            { name: "day", type: "date" },
          ],
        },
      },
    ]);
    expect(await account.get("/hive/sales/orders/table_properties")).toMatchObject({ table_type: "MANAGED_TABLE" });
    expect(await account.get("/hive/sales/orders/partitions")).toEqual([]);
    await account.get("/hive/nowhere").refused(404);
    await account.get("/hive/sales/nothing").refused(404);
  });

  test("hears that it does not answer, and sees its own again when it gives the address up", async () => {
    const other = await given.account();
    await other.put("/api/v2/accounts", { account: { metastore_uri: "thrift://127.0.0.1:9" } });
    await other.get("/hive/default").refused(503, /The Hive metastore at 127\.0\.0\.1:9 cannot be reached/);
    await other.put("/api/v2/accounts", { account: { metastore_uri: "" } });
    expect(await other.get("/hive/default")).toEqual([]);
  });
});
