import { Readable } from "node:stream";
import type { ObjectStore } from "../../engines/object-store/object-store.ts";
import { filePieces } from "../../engines/object-store/object-body.ts";
import { ObjectStoreError } from "../../engines/object-store/object-store-error.ts";
import { KeyedSemaphore, limitConcurrency } from "../../lib/limit-concurrency.ts";
import { openPlainFile } from "../../lib/plain-file.ts";
import type { Content } from "../results/command-result.ts";
import { parseObjectUri } from "../../engines/object-store/object-uri.ts";
import { makeOwnedFolder } from "../../engines/sandbox/confined-folders.ts";
import type { DiskGuard } from "../../lib/disk-guard.ts";
import { lazy } from "../../lib/lazy.ts";
import { accountIdentity } from "../execution/command-files.ts";
import type { AccountStorage } from "../../accounts/contract.ts";
import { type PublishedCommand, publishedPath } from "../output/command-text.ts";

/**
 * Uploads objects to accounts' storage: a few at a time for each account, so that a slow storage does not block others, and
 * each object once, even if several callers upload it at the same time.
 */
export interface Uploads {
  /** Settles when all of it is uploaded. */
  put(accountId: number, store: ObjectStore, uri: string, content: Content): Promise<void>;
  stop(): void;
}

/** Each upload holds a few parts in memory. */
export const UPLOADS_CONCURRENCY = 16;
export const UPLOADS_OF_ACCOUNT = 2;
/** From this size on, asking whether the object exists costs less than uploading it again. */
const ASK_FIRST_BYTES = 8 * 1024 * 1024;

/** An upload that is slower than this, after its first minute, ends: it would keep a slot from other accounts. */
export interface SlowestUpload {
  readonly graceMs: number;
  readonly bytesPerMs: number;
}

const SLOWEST: SlowestUpload = { graceMs: 60_000, bytesPerMs: (256 * 1024) / 1000 };

export function openUploads(slowest = SLOWEST): Uploads {
  const underWay = new Map<string, Promise<void>>();
  const stopping = new AbortController();
  const inTurn = limitConcurrency(UPLOADS_CONCURRENCY);
  const slotsOfAccounts = new KeyedSemaphore<number>(() => UPLOADS_OF_ACCOUNT);
  return {
    put(accountId, store, uri, content) {
      const shared = underWay.get(uri);
      if (shared !== undefined) return shared;
      const own = slotsOfAccounts
        .run(accountId, () => inTurn(() => upload(store, uri, content, { slowest, stopping: stopping.signal })))
        .finally(() => underWay.delete(uri));
      underWay.set(uri, own);
      return own;
    },
    stop: () => stopping.abort(),
  };
}

interface UploadOptions {
  readonly slowest: SlowestUpload;
  readonly stopping: AbortSignal;
}

/** An object of the right size was uploaded completely, so it is not uploaded again. */
async function upload(
  store: ObjectStore,
  uri: string,
  content: Content,
  { slowest, stopping }: UploadOptions,
): Promise<void> {
  stopping.throwIfAborted();
  let sent = 0;
  const tooSlow = new AbortController();
  const started = performance.now();
  const check = (): void => {
    const allowedMs = slowest.graceMs + sent / slowest.bytesPerMs;
    if (isLocal(uri) || performance.now() - started < allowedMs) return;
    tooSlow.abort(new ObjectStoreError("unreachable", `${uri}: the object store is too slow`));
  };
  const watch = setInterval(check, slowest.graceMs / 60);
  const signal = AbortSignal.any([stopping, tooSlow.signal]);
  try {
    const size = await content.size();
    if (size !== undefined && size >= ASK_FIRST_BYTES && (await sizeThere(store, uri, signal)) === size) return;
    await put(store, uri, content, { signal, count: (bytes) => (sent += bytes) });
    if (size === undefined) await content.counted?.(sent);
  } finally {
    clearInterval(watch);
  }
}

async function put(
  store: ObjectStore,
  uri: string,
  content: Content,
  { signal, count }: { readonly signal: AbortSignal; readonly count: (bytes: number) => void },
): Promise<void> {
  const file = content.path === undefined ? undefined : await openPlainFile(content.path);
  try {
    const pieces = file === undefined ? content.read() : filePieces(file.handle);
    // The store of a folder copies files without reading them.
    const isCopied = file !== undefined && isLocal(uri);
    const body = isCopied ? file.handle : Readable.from(counted(pieces, count), { objectMode: false });
    await store.put(uri, body, { signal });
  } finally {
    await file?.handle.close();
  }
}

function isLocal(uri: string): boolean {
  return parseObjectUri(uri).scheme === "file";
}

async function* counted(pieces: AsyncIterable<Uint8Array>, count: (bytes: number) => void): AsyncGenerator<Uint8Array> {
  for await (const piece of pieces) {
    count(piece.length);
    yield piece;
  }
}

async function sizeThere(store: ObjectStore, uri: string, signal: AbortSignal): Promise<number | undefined> {
  try {
    return (await store.stat(uri, { signal })).size;
  } catch (error) {
    if (error instanceof ObjectStoreError && error.kind === "missing") return undefined;
    throw error;
  }
}

/** The storage location of an account, open for its results and logs. The caller of `openPublishTarget` closes it. */
export interface PublishTarget {
  readonly store: ObjectStore;
  uriOf(command: PublishedCommand, name: string): string;
  /** Call it after an upload: the account's keys have worked. */
  noteAccepted(): Promise<void>;
}

export interface PublishTargetOptions {
  readonly storage: AccountStorage;
  readonly diskGuard: Pick<DiskGuard, "refusal">;
}

export async function openPublishTarget(
  { storage, diskGuard }: PublishTargetOptions,
  accountId: number,
): Promise<PublishTarget> {
  const opened = await storage.open(accountId);
  const { store, location, hasKeys, hdfsHttpAddress } = opened;
  let noteAccepted: PublishTarget["noteAccepted"] = () => Promise.resolve();
  try {
    const { scheme, key: path } = parseObjectUri(location);
    switch (scheme) {
      case "s3":
        if (!hasKeys) throw new ObjectStoreError("denied", "the account has no storage keys");
        noteAccepted = lazy(() => opened.noteKeysWork());
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
  return { store, uriOf: (command, name) => `${root}${publishedPath(command, name)}`, noteAccepted };
}
