import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import { ObjectStoreError, type ObjectStoreErrorKind } from "../../object-store/object-store-error.ts";
import type { CopyRequest } from "./copy-request.ts";
import { outputUri } from "./destination.ts";
import { journalFile, type Journal } from "./journal.ts";
import { JournalError } from "./journal-line.ts";
import { readLeftovers, type Leftovers } from "./journal-state.ts";
import { parseCopyOptions } from "./options/parse-options.ts";
import { S3Storage } from "./storage/s3-storage.ts";
import { Storages, type StorageJournal } from "./storage/storages.ts";

const CONCURRENCY = 16;

/** The part of the journal that records removed leftovers. */
type RemovedNotes = Pick<Journal, "noteClosed" | "noteRemoved">;

/**
 * Aborts the uploads and removes the temporary files that a killed copy has left. A copy that ended by itself has left
 * none. Returns how many there were. It runs in the server and does not trust the journal, which the account's processes
 * can change.
 */
export async function cleanUpCopy(request: CopyRequest, signal: AbortSignal): Promise<number> {
  const left = await readLeftovers(journalFile(request.journalFolder));
  if (left === undefined) return 0;
  const count = left.leftUploads.length + left.leftOutputs.length + left.leftTemporaries.length;
  if (count === 0) return 0;
  const options = parseCopyOptions(request.words, request.account.location);
  const journal = unwritten(left.id);
  const storages = new Storages({ request, options, journal, slots: CONCURRENCY, signal });
  try {
    checkLocations(left, storages, options.dest);
    await removeLeftovers(storages, { left, notes: journal }, options.dest, signal);
  } finally {
    await storages.close();
  }
  return count;
}

/** Ignores all notes, because the journal is removed after the clean-up. */
function unwritten(id: string): StorageJournal & RemovedNotes {
  const nothing = (): void => undefined;
  const written = (): Promise<void> => Promise.resolve();
  return { id, noteUpload: written, noteTemporary: written, noteClosed: nothing, noteRemoved: nothing };
}

/** Throws if the journal names anything that a copy with these options does not write. */
function checkLocations({ leftUploads, leftTemporaries }: Leftovers, storages: Storages, dest: string): void {
  const folder = outputUri(dest, "");
  const isForeign =
    leftUploads.some(({ uri }) => !uri.startsWith(folder)) || leftTemporaries.some((uri) => !storages.isTemporary(uri));
  if (isForeign) throw new JournalError("the journal of the copy names files that the copy does not write");
}

/** Removes everything that earlier attempts have left, except finished outputs. */
export async function removeLeftovers(
  storages: Storages,
  { left, notes }: { readonly left: Leftovers; readonly notes: RemovedNotes },
  dest: string,
  signal: AbortSignal,
): Promise<void> {
  const { to } = storages;
  const inSlot = limitConcurrency(CONCURRENCY);
  if (to instanceof S3Storage) await abortUploads(to, { left, notes }, dest, signal);
  const outputs = left.leftOutputs.map((name) => inSlot(() => to.removeUnfinished(outputUri(dest, name))));
  await Promise.all(outputs);
  for (const uri of left.leftTemporaries) {
    await storages.at(uri).removeTemporary(uri);
    notes.noteRemoved(uri);
  }
}

const UNLISTABLE: ReadonlySet<ObjectStoreErrorKind> = new Set(["denied", "bad-request", "missing"]);

/** Aborts all open uploads, even if the process was killed before it could note their ids. */
async function abortUploads(
  { store }: S3Storage,
  { left, notes }: { readonly left: Leftovers; readonly notes: RemovedNotes },
  dest: string,
  signal: AbortSignal,
): Promise<void> {
  for (const upload of left.leftUploads) {
    await store.abortUpload(upload, { signal });
    notes.noteClosed(upload);
  }
  const names = new Set(left.leftOutputs.map((name) => outputUri(dest, name)));
  if (names.size === 0) return;
  try {
    for await (const upload of store.openUploads(outputUri(dest, ""), { signal })) {
      if (names.has(upload.uri)) await store.abortUpload(upload, { signal });
    }
  } catch (error) {
    // The keys may not allow this listing. An upload without an id in the journal has no parts, so it costs nothing.
    if (!(error instanceof ObjectStoreError && UNLISTABLE.has(error.kind))) throw error;
  }
}
