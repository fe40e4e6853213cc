import type { ObjectStore } from "../../engines/object-store/object-store.ts";
import { ObjectStoreError } from "../../engines/object-store/object-store-error.ts";
import { parseObjectUri } from "../../engines/object-store/object-uri.ts";
import { makeOwnedFolder } from "../../engines/sandbox/confined-folders.ts";
import type { DiskGuard } from "../../lib/disk-guard.ts";
import { accountIdentity } from "../execution/attempt-folders.ts";
import type { AccountStorage } from "../../accounts/contract.ts";
import { type PublishedCommand, publishedPath } from "../output/published-text.ts";

/** The storage location of an account, open for its results and logs. The caller of `openPublishTarget` closes it. */
export interface PublishTarget {
  readonly store: ObjectStore;
  uriOf(command: PublishedCommand, name: string): string;
}

export interface PublishTargetOptions {
  readonly storage: AccountStorage;
  readonly diskGuard: Pick<DiskGuard, "refusal">;
}

export async function openPublishTarget(
  { storage, diskGuard }: PublishTargetOptions,
  accountId: number,
): Promise<PublishTarget> {
  const { store, location, hasKeys, hdfsHttpAddress } = await storage.open(accountId);
  try {
    const { scheme, key: path } = parseObjectUri(location);
    switch (scheme) {
      case "s3":
        if (!hasKeys) throw new ObjectStoreError("denied", "the account has no storage keys");
        break;
      case "hdfs":
        if (hdfsHttpAddress === null) throw new ObjectStoreError("denied", "the account has no hdfs_http_address");
        break;
      case "file":
        if (diskGuard.refusal() !== undefined) throw new ObjectStoreError("no-space", "the disk is nearly full");
        // The folder may not exist before the first program of the account. As root, new files get the owner of the folder.
        await makeOwnedFolder(path, accountIdentity(accountId));
    }
  } catch (error) {
    await store.close();
    throw error;
  }
  const root = location.replace(/\/+$/, "");
  return { store, uriOf: (command, name) => `${root}${publishedPath(command, name)}` };
}
