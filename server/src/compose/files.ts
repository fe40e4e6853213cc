import { accountIdentity } from "../commands/execution/command-files.ts";
import type { WithAccountDisk } from "../commands/account-disk/account-disk.ts";
import { uploadsFolder } from "../accounts/account-storage.ts";
import { accountFiles, type AccountFiles, type DiskAllowance } from "../files/account-files.ts";
import { UnfinishedUploads } from "../files/unfinished-uploads.ts";
import { makeOwnedFolder } from "../processes/sandbox/confined-folders.ts";
import type { NodeParts } from "./node.ts";

export interface FileParts {
  readonly files: AccountFiles;
  readonly uploads: UnfinishedUploads;
}

/** The files of accounts, as operations read and write them. */
export async function composeFiles(node: NodeParts, { accountDisk }: WithAccountDisk): Promise<FileParts> {
  const { config, storage, clock, log, diskGuard } = node;
  const uploads = new UnfinishedUploads({ folder: uploadsFolder(config.dataDir), storage, clock, log });
  await uploads.begin();
  const disk: DiskAllowance = {
    async reserve(accountId, bytes) {
      const refusal = diskGuard.refusal();
      if (refusal !== undefined) throw refusal;
      const reservation = await accountDisk.reserve(accountId, bytes);
      return {
        add(more) {
          const isLow = diskGuard.refusal(); // an upload can take hours
          if (isLow !== undefined) throw isLow;
          reservation.add(more);
        },
        release: (isStored) => reservation.release(isStored),
      };
    },
  };
  const makeFolder = (accountId: number, path: string): Promise<void> =>
    makeOwnedFolder(path, accountIdentity(accountId));
  return { files: accountFiles({ storage, uploads, disk, makeFolder }), uploads };
}
