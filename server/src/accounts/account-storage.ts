import { join } from "node:path";
import type { Database } from "../db/database.ts";
import { byScheme } from "../object-store/by-scheme.ts";
import { fileStore } from "../object-store/file/file-store.ts";
import type { ObjectStore } from "../object-store/object-store.ts";
import type { ObjectScheme } from "../object-store/object-uri.ts";
import type { CheckAddress } from "../lib/guarded-lookup.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { addressRefusal } from "../lib/network-policy.ts";
import type { AccountServices } from "./account-services.ts";
import type { AccountStorage, StorageSettings } from "./contract.ts";
import { openCredential } from "./credentials.ts";
import { type AccountRow, markStorageValidated, readAccount } from "./store/account.ts";

export const DEFAULT_REGION = "us-east-1";

/**
 * Opens the storage that an account can read: its own folder, S3 with its own keys, and its HDFS as the user of its
 * Sparks.
 */
export function accountStorage(
  db: Database,
  keys: KeyRing,
  deployment: Pick<AccountServices["accountSettings"], "dataDir" | "s3Endpoint" | "allowedNetworks">,
): AccountStorage {
  const checkAddress: CheckAddress = (address) => addressRefusal(address, deployment.allowedNetworks) ?? null;
  const stagingDir = uploadsFolder(deployment.dataDir);
  const read = (accountId: number): Promise<AccountRow> => readAccount(db.accountReader(accountId));
  return {
    async open(accountId) {
      const account = await read(accountId);
      const { s3, hdfs, location, fileRoot } = storageSettings(account, keys, deployment);
      const stores: Partial<Record<ObjectScheme, ObjectStore>> = { file: fileStore({ rootDir: fileRoot, stagingDir }) };
      // Loaded for the first account that needs it: an HTTP client is a twentieth of an idle server's memory.
      if (s3.credentials !== null) {
        const { s3Store } = await import("../object-store/s3/s3-store.ts");
        stores.s3 = s3Store({ ...s3, credentials: s3.credentials, checkAddress, retries: 1 });
      }
      if (hdfs !== null) {
        const { hdfsStore } = await import("../object-store/hdfs/hdfs-store.ts");
        stores.hdfs = hdfsStore({ ...hdfs, checkAddress, retries: 1 });
      }
      return {
        store: byScheme(stores),
        location,
        hasKeys: s3.credentials !== null,
        hdfsHttpAddress: account.hdfsHttpAddress,
        noteKeysWork: () => markStorageValidated(db.system, account),
      };
    },
    settings: async (accountId) => storageSettings(await read(accountId), keys, deployment),
    async noteKeysWork(accountId, accepted) {
      const account = await read(accountId);
      const { credentials } = storageSettings(account, keys, deployment).s3;
      const isSame =
        credentials?.accessKeyId === accepted.accessKeyId && credentials.secretAccessKey === accepted.secretAccessKey;
      if (isSame) await markStorageValidated(db.system, account);
    },
  };
}

function storageSettings(
  account: AccountRow,
  keys: KeyRing,
  { dataDir, s3Endpoint }: Pick<AccountServices["accountSettings"], "dataDir" | "s3Endpoint">,
): StorageSettings {
  const accessKeyId = openCredential(keys, account, "storageAccessKey")?.reveal();
  const secretAccessKey = openCredential(keys, account, "storageSecretKey")?.reveal();
  const { id, hdfsHttpAddress } = account;
  return {
    s3: {
      endpoint: account.storageEndpoint ?? s3Endpoint,
      region: account.awsRegion ?? DEFAULT_REGION,
      credentials: accessKeyId === undefined || secretAccessKey === undefined ? null : { accessKeyId, secretAccessKey },
    },
    hdfs: hdfsHttpAddress === null ? null : { address: hdfsHttpAddress, user: `account${id}` },
    location: storageLocation(account, dataDir),
    fileRoot: storageFolder(dataDir, id),
  };
}

/** The account's `storage_location`. */
export function storageLocation({ id, defaultLocation }: Pick<AccountRow, "id" | "defaultLocation">, dataDir: string) {
  return defaultLocation ?? `file://${storageFolder(dataDir, id)}`;
}

export function storageFolder(dataDir: string, accountId: number): string {
  return join(dataDir, "accounts", String(accountId), "storage");
}

/** Files are written here until they are complete. Only the server can read it. */
export function uploadsFolder(dataDir: string): string {
  return join(dataDir, "uploads");
}
