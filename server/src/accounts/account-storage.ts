import { join } from "node:path";
import type { Database } from "../db/database.ts";
import { byScheme } from "../engines/object-store/by-scheme.ts";
import { fileStore } from "../engines/object-store/file/file-store.ts";
import type { ObjectStore } from "../engines/object-store/object-store.ts";
import type { ObjectScheme } from "../engines/object-store/object-uri.ts";
import type { CheckAddress } from "../lib/guarded-lookup.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { addressRefusal } from "../lib/network-policy.ts";
import type { AccountServices } from "./account-services.ts";
import type { AccountStorage } from "./contract.ts";
import { openCredential } from "./credentials.ts";
import { readAccount } from "./store/account.ts";

export const DEFAULT_REGION = "us-east-1";

/**
 * Opens the storage that an account can read: its own folder, S3 with its own keys, and its HDFS as the user of its
 * Sparks.
 */
export function accountStorage(
  db: Database,
  keys: KeyRing,
  { dataDir, s3Endpoint, allowedNetworks }: AccountServices["accountSettings"],
): AccountStorage {
  const checkAddress: CheckAddress = (address) => addressRefusal(address, allowedNetworks) ?? null;
  return {
    async open(accountId) {
      const account = await readAccount(db.accountReader(accountId));
      const accessKeyId = openCredential(keys, account, "storageAccessKey")?.reveal();
      const secretAccessKey = openCredential(keys, account, "storageSecretKey")?.reveal();
      const rootDir = storageFolder(dataDir, accountId);
      const { hdfsHttpAddress } = account;
      const stores: Partial<Record<ObjectScheme, ObjectStore>> = { file: fileStore({ rootDir }) };
      const hasKeys = accessKeyId !== undefined && secretAccessKey !== undefined;
      // Loaded for the first account that needs it: an HTTP client is a twentieth of an idle server's memory.
      if (hasKeys) {
        const { s3Store } = await import("../engines/object-store/s3/s3-store.ts");
        stores.s3 = s3Store({
          endpoint: account.storageEndpoint ?? s3Endpoint,
          region: account.awsRegion ?? DEFAULT_REGION,
          credentials: { accessKeyId, secretAccessKey },
          checkAddress,
          retries: 1,
        });
      }
      if (hdfsHttpAddress !== null) {
        const { hdfsStore } = await import("../engines/object-store/hdfs/hdfs-store.ts");
        stores.hdfs = hdfsStore({ address: hdfsHttpAddress, user: `account${accountId}`, checkAddress, retries: 1 });
      }
      const location = account.defaultLocation ?? `file://${rootDir}`;
      return { store: byScheme(stores), location, hasKeys, hdfsHttpAddress };
    },
  };
}

export function storageFolder(dataDir: string, accountId: number): string {
  return join(dataDir, "accounts", String(accountId), "storage");
}
