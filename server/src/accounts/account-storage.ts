import { join } from "node:path";
import type { Database } from "../db/database.ts";
import { byScheme } from "../engines/object-store/by-scheme.ts";
import { fileStore } from "../engines/object-store/file/file-store.ts";
import type { ObjectStore } from "../engines/object-store/object-store.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { addressRefusal } from "../lib/network-policy.ts";
import type { AccountServices } from "./account-services.ts";
import { openCredential } from "./credentials.ts";
import { readAccount } from "./store/account.ts";

export const DEFAULT_REGION = "us-east-1";

/** Opens what an account may read: its own folder, and S3 with its own keys. Whoever opens it closes it. */
export function accountStorage(
  db: Database,
  keys: KeyRing,
  { dataDir, s3Endpoint, allowedNetworks }: AccountServices["accountSettings"],
) {
  return {
    async open(
      accountId: number,
    ): Promise<{ store: ObjectStore; location: string; hasKeys: boolean; hdfsHttpAddress: string | null }> {
      const account = await readAccount(db.accountReader(accountId));
      const accessKeyId = openCredential(keys, account, "storageAccessKey")?.reveal();
      const secretAccessKey = openCredential(keys, account, "storageSecretKey")?.reveal();
      const rootDir = storageFolder(dataDir, accountId);
      const file = fileStore({ rootDir });
      const { hdfsHttpAddress } = account;
      const location = account.defaultLocation ?? `file://${rootDir}`;
      if (accessKeyId === undefined || secretAccessKey === undefined) {
        return { store: byScheme({ file }), location, hasKeys: false, hdfsHttpAddress };
      }
      // Loaded for the first account that has keys: an HTTP client is a twentieth of an idle server's memory.
      const { s3Store } = await import("../engines/object-store/s3/s3-store.ts");
      const s3 = s3Store({
        endpoint: account.storageEndpoint ?? s3Endpoint,
        region: account.awsRegion ?? DEFAULT_REGION,
        credentials: { accessKeyId, secretAccessKey },
        checkAddress: (address) => addressRefusal(address, allowedNetworks) ?? null,
        retries: 1,
      });
      return { store: byScheme({ file, s3 }), location, hasKeys: true, hdfsHttpAddress };
    },
  };
}

export function storageFolder(dataDir: string, accountId: number): string {
  return join(dataDir, "accounts", String(accountId), "storage");
}
