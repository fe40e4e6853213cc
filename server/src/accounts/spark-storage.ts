import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Database } from "../db/database.ts";
import type { Contribution } from "../engines/spark-home/contribution.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import type { AccountServices } from "./account-services.ts";
import { DEFAULT_REGION, storageFolder } from "./account-storage.ts";
import { openCredential } from "./credentials.ts";
import { readAccount } from "./store/account.ts";

/**
 * The contribution of an account's storage to its Sparks: its own folder, and S3 with its own keys and endpoint. Tables
 * without a location are in the account's location on S3 if it has one, so that every node can read them, else in the
 * folder.
 */
export function sparkStorage(
  db: Database,
  keys: KeyRing,
  { dataDir, s3Endpoint }: AccountServices["accountSettings"],
): (accountId: number) => Promise<Partial<Contribution>> {
  return async (accountId) => {
    const account = await readAccount(db.accountReader(accountId));
    const folder = storageFolder(dataDir, accountId);
    const tablesAt = (warehouse: string) => ({ "spark.sql.warehouse.dir": warehouse });
    const own = { writable: [folder], properties: tablesAt(pathToFileURL(join(folder, "warehouse")).href) };
    const accessKey = openCredential(keys, account, "storageAccessKey")?.reveal();
    const secretKey = openCredential(keys, account, "storageSecretKey")?.reveal();
    if (accessKey === undefined || secretKey === undefined) return own;
    const endpoint = account.storageEndpoint ?? s3Endpoint;
    const s3 = s3Properties(accessKey, secretKey, account.awsRegion ?? DEFAULT_REGION, endpoint);
    const place = s3Location(account.defaultLocation);
    const tables = place === undefined ? own.properties : tablesAt(`${place}/warehouse`);
    return { ...own, properties: { ...tables, ...s3 } };
  };
}

/** The location in Hadoop's spelling; undefined if it is not on S3. */
function s3Location(location: string | null): string | undefined {
  const [, place] = /^s3[an]?:\/\/(.+?)\/*$/.exec(location ?? "") ?? [];
  return place === undefined ? undefined : `s3a://${place}`;
}

const S3A = "spark.hadoop.fs.s3a";
const FILE_SYSTEM = "org.apache.hadoop.fs.s3a.S3AFileSystem";

function s3Properties(accessKey: string, secretKey: string, region: string, endpoint: string | null) {
  return {
    // Users write all three schemes.
    "spark.hadoop.fs.s3.impl": FILE_SYSTEM,
    "spark.hadoop.fs.s3n.impl": FILE_SYSTEM,
    [`${S3A}.access.key`]: accessKey,
    [`${S3A}.secret.key`]: secretKey,
    [`${S3A}.aws.credentials.provider`]: "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
    [`${S3A}.endpoint.region`]: region,
    ...(endpoint === null
      ? {}
      : {
          [`${S3A}.endpoint`]: endpoint,
          // Bucket names as host names would need DNS entries for them.
          [`${S3A}.path.style.access`]: "true",
          [`${S3A}.connection.ssl.enabled`]: String(!endpoint.startsWith("http:")),
        }),
  };
}
