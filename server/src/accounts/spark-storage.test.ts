import { afterAll, beforeAll, expect, test } from "vitest";
import { cloneDatabase, type TestDatabase } from "../../test/support/test-database.ts";
import { openDatabase, type Database } from "../db/database.ts";
import { KeyRing, newKey } from "../lib/key-ring.ts";
import { sparkStorage } from "./spark-storage.ts";

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await cloneDatabase();
  db = openDatabase(database.connection);
});
afterAll(async () => {
  await db.close();
  await database.drop();
});

test("an account without keys gets the provider NoAccountKeys only if the Spark of this node can load it", async () => {
  const [account] = await db.system.query<{ id: number }>("insert into account (name) values ('a') returning id");
  const providersIf = async (hasS3a: boolean): Promise<string | undefined> => {
    const keys = new KeyRing([newKey([])], () => []);
    const storageOf = sparkStorage(db, keys, { dataDir: "/data", s3Endpoint: null }, () => hasS3a);
    return (await storageOf(account?.id ?? 0)).defaults?.["spark.hadoop.fs.s3a.aws.credentials.provider"];
  };
  const [withS3a, without] = [await providersIf(true), await providersIf(false)];
  expect(withS3a).toBe(`${without},headgate.storage.NoAccountKeys`);
  expect(without).toMatch(/TemporaryAWSCredentialsProvider,.*\.SimpleAWSCredentialsProvider$/);
});
