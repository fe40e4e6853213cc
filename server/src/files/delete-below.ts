/**
 * Deletes files below a folder, and the folders themselves. Where folders are real, one walk deletes what is in a folder
 * and then the folder. Object stores have no folders: there it is a list of keys.
 */
import { invalid } from "../lib/fault.ts";
import { limitConcurrency } from "../lib/limit-concurrency.ts";
import type { FolderEntry } from "../object-store/object-store.ts";
import { parseObjectUri } from "../object-store/object-uri.ts";
import type { OpenFiles } from "./account-files.ts";

/** The most files of one request, and the most folders. */
export const MAX_DELETED = 10_000;
/** The request ends after this time, and says that there is more. */
const MAX_DURATION_MS = 30_000;
const BATCH = 1000;
const CONCURRENCY = 16;
const MAX_DEPTH = 256;
/** Programs may add files to a folder that is being deleted. */
const MAX_ROUNDS = 100;

export interface Deleted {
  files: number;
  folders: number;
  hasMore: boolean;
}

/** `deleted` is right even if this fails. */
export async function deleteBelow(
  files: OpenFiles,
  path: string,
  deleted: Deleted,
  signal: AbortSignal,
): Promise<void> {
  const deletion = new Deletion(files, deleted, signal);
  deleted.hasMore = true;
  const isComplete = files.hasFolders
    ? await deletion.removeFolder(files.uriOf(path), 0)
    : await deletion.removeKeys(files.uriOf(`${path}/`));
  deleted.hasMore = !isComplete;
}

class Deletion {
  readonly #files: OpenFiles;
  readonly #deleted: Deleted;
  readonly #signal: AbortSignal;
  readonly #inTurn = limitConcurrency(CONCURRENCY);
  readonly #endsAt = performance.now() + MAX_DURATION_MS;

  constructor(files: OpenFiles, deleted: Deleted, signal: AbortSignal) {
    this.#files = files;
    this.#deleted = deleted;
    this.#signal = signal;
  }

  /** False: a limit of the request is reached. */
  async removeKeys(prefixUri: string): Promise<boolean> {
    for (;;) {
      if (this.#isOver) return false;
      const limit = Math.min(BATCH, MAX_DELETED - this.#deleted.files);
      const page = await this.#files.store.page(prefixUri, { limit, signal: this.#signal });
      await this.#deleteAll(page.entries);
      if (!page.hasMore) return true;
    }
  }

  /** The same for a folder. Throws if something cannot be deleted. */
  async removeFolder(uri: string, depth: number): Promise<boolean> {
    const { store } = this.#files;
    if (depth > MAX_DEPTH) throw this.#stays(uri, `is more than ${MAX_DEPTH} folders below; delete it first`);
    for (let round = 1; round <= MAX_ROUNDS; round += 1) {
      if (this.#isOver) return false;
      // The folder is closed before the next one is opened.
      const entries = await this.#firstEntries(uri);
      await this.#deleteAll(entries.filter(({ kind }) => kind !== "folder"));
      for (const { kind, uri: inner } of entries) {
        if (kind === "folder" && !(await this.removeFolder(inner, depth + 1))) return false;
      }
      if (this.#isOver) return false;
      const outcome = await store.removeFolder(uri, { signal: this.#signal });
      if (outcome === "removed") this.#deleted.folders += 1;
      if (outcome !== "left") return true;
      if (entries.length === 0) break;
    }
    throw this.#stays(uri, "cannot be deleted: something in it cannot, or programs add files");
  }

  get #isOver(): boolean {
    const { files, folders } = this.#deleted;
    return files >= MAX_DELETED || folders >= MAX_DELETED || performance.now() > this.#endsAt;
  }

  async #firstEntries(uri: string): Promise<FolderEntry[]> {
    const limit = Math.min(BATCH, MAX_DELETED - this.#deleted.files);
    const entries: FolderEntry[] = [];
    for await (const entry of this.#files.store.folder(uri, { signal: this.#signal, withAll: true })) {
      entries.push(entry);
      if (entries.length >= limit) break;
    }
    return entries;
  }

  async #deleteAll(entries: readonly { readonly uri: string }[]): Promise<void> {
    const deletions = entries.map(({ uri }) =>
      this.#inTurn(async () => {
        this.#signal.throwIfAborted();
        await this.#files.store.delete(uri, { signal: this.#signal });
        this.#deleted.files += 1;
      }),
    );
    const failed = (await Promise.allSettled(deletions)).find((each) => each.status === "rejected");
    if (failed !== undefined) throw failed.reason;
  }

  #stays(uri: string, why: string): Error {
    return invalid(
      "path",
      `names a folder in which ${JSON.stringify(this.#files.pathOf(parseObjectUri(uri).key))} ${why}`,
    );
  }
}
