import { join } from "node:path";
import { fileStore } from "../../engines/object-store/file/file-store.ts";
import { pruneFolders } from "../../engines/object-store/file/prune-folders.ts";
import { ObjectStoreError } from "../../engines/object-store/object-store-error.ts";
import { type PublishedCommand, RESULT_NAME, logName, publishedPath } from "../output/published-text.ts";

/**
 * Published results and logs in the local folder of an account without external storage. They are removed together with
 * the files of their command; nothing is removed from external storage. Programs of the account can change the folder,
 * so no link in it is followed, and copies that they have changed are ignored.
 */
export interface LocalCopies {
  /** Their size in bytes. */
  size(command: PublishedCommand, names: readonly string[]): Promise<number>;
  /** Returns the bytes that were removed. */
  remove(command: PublishedCommand, names: readonly string[]): Promise<number>;
}

export function localCopies(dataDir: string): LocalCopies {
  const rootOf = ({ accountId }: PublishedCommand): string => join(dataDir, "accounts", String(accountId), "storage");
  const uriOf = (command: PublishedCommand, name: string): string =>
    `file://${rootOf(command)}${publishedPath(command, name)}`;
  const sizeOf = async (command: PublishedCommand, name: string): Promise<number> => {
    const { size } = await fileStore({ rootDir: rootOf(command) }).stat(uriOf(command, name));
    return size;
  };
  return {
    async size(command, names) {
      let all = 0;
      for (const name of names) all += await unlessChanged(() => sizeOf(command, name));
      return all;
    },
    async remove(command, names) {
      let taken = 0;
      for (const name of names) {
        taken += await unlessChanged(async () => {
          const size = await sizeOf(command, name);
          await fileStore({ rootDir: rootOf(command) }).delete(uriOf(command, name));
          return size;
        });
      }
      await pruneFolders(rootOf(command), publishedPath(command, "").split("/").slice(1, -1));
      return taken;
    },
  };
}

export const RESULT_NAMES: readonly string[] = [RESULT_NAME];

export function logNames(lastAttempt: number): string[] {
  return Array.from({ length: lastAttempt }, (_, index) => logName(index + 1));
}

async function unlessChanged(work: () => Promise<number>): Promise<number> {
  try {
    return await work();
  } catch (error) {
    if (error instanceof ObjectStoreError) return 0;
    throw error;
  }
}
