import type { ObjectStore } from "../../object-store/object-store.ts";
import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import type { PartitionFolder } from "./walk-partitions.ts";

export interface UnsettledFolder<F> {
  readonly folder: F;
  /** The URI that changed. */
  readonly changed: string;
  readonly at: Date;
}

const FOLDER_CONCURRENCY = 16;

/** Separates folders in which no file or folder, at any depth, has changed since that time from the others. */
export async function settledFolders<F extends PartitionFolder>(
  store: ObjectStore,
  folders: readonly F[],
  { since, signal }: { readonly since: Date; readonly signal: AbortSignal },
): Promise<{ settled: F[]; unsettled: UnsettledFolder<F>[] }> {
  const inTurn = limitConcurrency(FOLDER_CONCURRENCY);
  const failed = new AbortController();
  const either = AbortSignal.any([signal, failed.signal]);
  const searches = folders.map((folder) =>
    inTurn(async () => {
      either.throwIfAborted();
      const { location: uri, modifiedAt } = folder;
      return isLater(modifiedAt, since) ? { uri, at: modifiedAt } : findChange(store, uri, since, either);
    }).catch((error: unknown) => {
      failed.abort(); // the results of the others are not needed
      throw error;
    }),
  );
  const changes = await Promise.all(searches);
  const settled: F[] = [];
  const unsettled: UnsettledFolder<F>[] = [];
  for (const [index, folder] of folders.entries()) {
    const change = changes[index];
    if (change === undefined) settled.push(folder);
    else unsettled.push({ folder, changed: change.uri, at: change.at });
  }
  return { settled, unsettled };
}

interface Change {
  readonly uri: string;
  readonly at: Date;
}

async function findChange(
  store: ObjectStore,
  uri: string,
  since: Date,
  signal: AbortSignal,
): Promise<Change | undefined> {
  for await (const entry of store.folder(uri, { signal, withTimes: true })) {
    if (isLater(entry.modifiedAt, since)) return { uri: entry.uri, at: entry.modifiedAt };
    const below = entry.kind === "folder" ? await findChange(store, entry.uri, since, signal) : undefined;
    if (below !== undefined) return below;
  }
  return undefined;
}

function isLater(at: Date | null, since: Date): at is Date {
  return at !== null && at > since;
}
