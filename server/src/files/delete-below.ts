/** Deletes files below a folder, and then the folders that have become empty. Object stores have no empty folders. */
import { limitConcurrency } from "../lib/limit-concurrency.ts";
import type { OpenFiles } from "./account-files.ts";

/** Of one request, and as many folders. */
export const MAX_DELETED = 10_000;
const PAGE_FILES = 1000;
const CONCURRENCY = 16;

export interface Deleted {
  files: number;
  folders: number;
  hasMore: boolean;
}

/** `deleted` is right even if this fails. */
export async function deleteBelow(
  { store, uriOf }: OpenFiles,
  path: string,
  deleted: Deleted,
  signal: AbortSignal,
): Promise<void> {
  const inTurn = limitConcurrency(CONCURRENCY);
  deleted.hasMore = true;
  for (let isLast = false; !isLast;) {
    if (deleted.files >= MAX_DELETED) return;
    const limit = Math.min(PAGE_FILES, MAX_DELETED - deleted.files);
    const page = await store.page(uriOf(`${path}/`), { limit, signal });
    const deletions = page.entries.map(({ uri }) =>
      inTurn(async () => {
        signal.throwIfAborted();
        await store.delete(uri, { signal });
        deleted.files += 1;
      }),
    );
    const failed = (await Promise.allSettled(deletions)).find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
    isLast = !page.hasMore;
  }
  deleted.hasMore = !(await removeFolders(uriOf(path)));

  async function removeFolders(uri: string): Promise<boolean> {
    for await (const { kind, uri: inner } of store.folder(uri, { signal })) {
      if (kind !== "folder") continue;
      if (!(await removeFolders(inner))) return false;
    }
    if (deleted.folders >= MAX_DELETED) return false;
    const outcome = await store.removeFolder(uri, { signal });
    if (outcome === "removed") deleted.folders += 1;
    return outcome !== "left";
  }
}
