import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Database } from "../db/database.ts";
import type { ContributedPart } from "../engines/spark-home/contribution.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import type { AccountServices } from "./account-services.ts";
import { DEFAULT_REGION, storageFolder, storageLocation } from "./account-storage.ts";
import { openCredential } from "./credentials.ts";
import { readAccount } from "./store/account.ts";

/**
 * The contribution of an account's storage to its Sparks: its own folder, its location under the name `storage:/`, and S3
 * with its own keys and endpoint. Tables without a location are in the account's location on S3 if it has one, so that
 * every node can read them, else in the folder. The defaults are for Sparks on this node: another cluster may have access
 * to S3 by itself. `hasS3a`: whether the Spark of this node has s3a.
 */
export function sparkStorage(
  db: Database,
  keys: KeyRing,
  { dataDir, s3Endpoint }: Pick<AccountServices["accountSettings"], "dataDir" | "s3Endpoint">,
  hasS3a: () => boolean,
): (accountId: number) => Promise<ContributedPart> {
  return async (accountId) => {
    const account = await readAccount(db.accountReader(accountId));
    const folder = storageFolder(dataDir, accountId);
    const tablesAt = (warehouse: string) => ({ "spark.sql.warehouse.dir": warehouse });
    const own = {
      writable: [folder],
      defaults: hasS3a() ? WITHOUT_KEYS : WITHOUT_KEYS_AND_S3A,
      properties: {
        ...storageScheme(storageLocation(account, dataDir)),
        ...tablesAt(pathToFileURL(join(folder, "warehouse")).href),
      },
    };
    const accessKey = openCredential(keys, account, "storageAccessKey")?.reveal();
    const secretKey = openCredential(keys, account, "storageSecretKey")?.reveal();
    if (accessKey === undefined || secretKey === undefined) return own;
    const endpoint = account.storageEndpoint ?? s3Endpoint;
    const s3 = s3Properties(accessKey, secretKey, account.awsRegion ?? DEFAULT_REGION, endpoint);
    const s3Folder = s3Location(account.defaultLocation);
    const tables = s3Folder === undefined ? {} : tablesAt(`${s3Folder}/warehouse`);
    return { ...own, properties: { ...own.properties, ...tables, ...s3 } };
  };
}

/** The location in Hadoop's spelling; undefined if it is not on S3. */
function s3Location(location: string | null): string | undefined {
  const [, s3Folder] = /^s3[an]?:\/\/(.+?)\/*$/.exec(location ?? "") ?? [];
  return s3Folder === undefined ? undefined : `s3a://${s3Folder}`;
}

/** The classes are in `jvm/storage`; users cannot change these (`setting-rules.ts`). */
function storageScheme(location: string) {
  return {
    "spark.hadoop.fs.storage.impl": "headgate.storage.StorageFileSystem",
    "spark.hadoop.fs.AbstractFileSystem.storage.impl": "headgate.storage.StorageContext",
    "spark.hadoop.fs.storage.location": s3Location(location) ?? location,
  };
}

const S3A = "spark.hadoop.fs.s3a";
const FILE_SYSTEM = "org.apache.hadoop.fs.s3a.S3AFileSystem";

/** Users write all three schemes. */
const SCHEMES = { "spark.hadoop.fs.s3.impl": FILE_SYSTEM, "spark.hadoop.fs.s3n.impl": FILE_SYSTEM };

/**
 * A program can still use its own keys. By default no provider uses the role of the machine, which all accounts would
 * share.
 */
const OWN_KEYS = [
  "org.apache.hadoop.fs.s3a.TemporaryAWSCredentialsProvider",
  "org.apache.hadoop.fs.s3a.SimpleAWSCredentialsProvider",
];

/** The last provider, in `jvm/`, says which keys the account lacks. */
const WITHOUT_KEYS = {
  ...SCHEMES,
  [`${S3A}.aws.credentials.provider`]: [...OWN_KEYS, "headgate.storage.NoAccountKeys"].join(","),
};

/** A program may bring s3a. Our provider was not compiled for it, and s3a fails if it cannot load a provider. */
const WITHOUT_KEYS_AND_S3A = { ...SCHEMES, [`${S3A}.aws.credentials.provider`]: OWN_KEYS.join(",") };

function s3Properties(accessKey: string, secretKey: string, region: string, endpoint: string | null) {
  return {
    ...SCHEMES,
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
