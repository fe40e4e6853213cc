import { lstat, opendir } from "node:fs/promises";
import { ObjectStoreError } from "../object-store-error.ts";
import type { OpenedFolder, TreeEntry } from "../page-tree.ts";
import { fileFailure } from "./file-failure.ts";
import { unfinishedName } from "./list-files.ts";
import { openFolders } from "./open-folder-chain.ts";
import { fileStat } from "./stat-of.ts";

const ENTRIES_AT_A_TIME = 500;

/** A folder below the root for a page of a listing. Undefined: it does not exist, cannot be read, or a link leads to it. */
export async function openForPage(root: string, path: string, subject: string): Promise<OpenedFolder | undefined> {
  const folders = path.split("/").slice(0, -1);
  const folder = await openFolders(root, { folders, subject }, "enter").catch((error: unknown) => {
    if (error instanceof ObjectStoreError && (error.kind === "missing" || error.kind === "denied")) return undefined;
    throw error;
  });
  if (folder === undefined) return undefined;
  return {
    async *entries() {
      let entries: TreeEntry[] = [];
      try {
        for await (const entry of await opendir(folder.path, { bufferSize: ENTRIES_AT_A_TIME })) {
          const { name } = entry;
          if (entry.isDirectory()) entries.push({ kind: "folder", name });
          else if (entry.isFile() && !unfinishedName.test(name)) entries.push({ kind: "file", name });
          if (entries.length < ENTRIES_AT_A_TIME) continue;
          yield entries;
          entries = [];
        }
      } catch (error) {
        throw fileFailure(subject, error);
      }
      yield entries;
    },
    async stat(name) {
      const stats = await lstat(folder.entry(name), { bigint: true }).catch(() => undefined); // gone meanwhile
      return stats?.isFile() === true ? fileStat(stats) : undefined;
    },
    close: () => folder.close(),
  };
}
