/**
 * Uploads objects to accounts' storage, a few at a time for each account, and each object once, even if several callers
 * upload it at the same time. While an upload waits for a slot, uploads that have run longer than a minute may hold at
 * most half of the slots; if they hold more, the slowest one is ended. So a slow storage does not block other accounts.
 */
import { Readable } from "node:stream";
import type { ObjectStore } from "../../object-store/object-store.ts";
import { filePieces } from "../../object-store/object-body.ts";
import { NO_S3_KEYS, ObjectStoreError } from "../../object-store/object-store-error.ts";
import { KeyedSemaphore, limitConcurrency } from "../../lib/limit-concurrency.ts";
import { openPlainFile } from "../../lib/plain-file.ts";
import type { Content } from "../results/command-result.ts";
import { parseObjectUri } from "../../object-store/object-uri.ts";
import { makeOwnedFolder } from "../../processes/sandbox/confined-folders.ts";
import type { DiskGuard } from "../../lib/disk-guard.ts";
import { lazy } from "../../lib/lazy.ts";
import { accountIdentity } from "../execution/command-files.ts";
import type { AccountStorage } from "../../accounts/contract.ts";
import { type PublishedCommand, publishedPath } from "../output/command-text.ts";

export interface Uploads {
  /** Settles when all of it is uploaded. Rejects with an `UploadError` if the storage fails. */
  put(accountId: number, store: ObjectStore, uri: string, content: Content): Promise<void>;
  stop(): void;
}

/** Each upload holds a few parts in memory. */
export const UPLOADS_CONCURRENCY = 16;
export const UPLOADS_OF_ACCOUNT = 2;
/** From this size on, asking whether the object exists costs less than uploading it again. */
const ASK_FIRST_BYTES = 8 * 1024 * 1024;

/** Uploads that have run longer than `MinUploadSpeed.graceMs`, while others wait. */
const LONG_UPLOADS = UPLOADS_CONCURRENCY / 2;

/** An upload that is slower than this, after its first minute, ends even if no other waits. */
export interface MinUploadSpeed {
  readonly graceMs: number;
  readonly bytesPerMs: number;
}

const MIN_UPLOAD_SPEED: MinUploadSpeed = { graceMs: 60_000, bytesPerMs: (256 * 1024) / 1000 };

/** A failure of the storage. */
export class UploadError extends ObjectStoreError {
  /** How long the upload ran, without the time in which it waited for a slot. */
  readonly tookMs: number;

  constructor(cause: ObjectStoreError, tookMs: number) {
    super(cause.kind, cause.message, { code: cause.code, cause });
    this.tookMs = tookMs;
  }
}

export function openUploads(minSpeed = MIN_UPLOAD_SPEED): Uploads {
  const underWay = new Map<string, Promise<void>>();
  const running = new Set<RunningUpload>();
  let waiting = 0;
  const stopping = new AbortController();
  const inTurn = limitConcurrency(UPLOADS_CONCURRENCY);
  const slotsOfAccounts = new KeyedSemaphore<number>(() => UPLOADS_OF_ACCOUNT);

  const endSlow = (): void => {
    for (const each of running) if (each.isTooSlow(minSpeed)) each.end("the object store is too slow");
    const long = [...running].filter(({ tookMs }) => tookMs > minSpeed.graceMs);
    if (waiting === 0 || long.length <= LONG_UPLOADS) return;
    const [slowest] = long.toSorted((one, other) => one.bytesPerMs - other.bytesPerMs);
    slowest?.end("it was the slowest of many long uploads while others waited");
  };

  const runUpload = async (store: ObjectStore, uri: string, content: Content): Promise<void> => {
    stopping.signal.throwIfAborted();
    const own = new RunningUpload(uri, stopping.signal);
    if (!isLocal(uri)) running.add(own);
    const watch = setInterval(endSlow, minSpeed.graceMs / 60);
    try {
      await upload(store, uri, content, own);
    } catch (error) {
      throw error instanceof ObjectStoreError ? new UploadError(error, own.tookMs) : error;
    } finally {
      clearInterval(watch);
      running.delete(own);
    }
  };

  return {
    put(accountId, store, uri, content) {
      const shared = underWay.get(uri);
      if (shared !== undefined) return shared;
      const own = slotsOfAccounts
        .run(accountId, () => {
          waiting += 1;
          return inTurn(() => {
            waiting -= 1;
            return runUpload(store, uri, content);
          });
        })
        .finally(() => underWay.delete(uri));
      underWay.set(uri, own);
      return own;
    },
    stop: () => stopping.abort(),
  };
}

class RunningUpload {
  readonly signal: AbortSignal;
  sentBytes = 0;
  readonly #uri: string;
  readonly #started = performance.now();
  readonly #ended = new AbortController();

  constructor(uri: string, stopping: AbortSignal) {
    this.#uri = uri;
    this.signal = AbortSignal.any([stopping, this.#ended.signal]);
  }

  get tookMs(): number {
    return performance.now() - this.#started;
  }

  get bytesPerMs(): number {
    return this.sentBytes / this.tookMs;
  }

  isTooSlow({ graceMs, bytesPerMs }: MinUploadSpeed): boolean {
    return this.tookMs >= graceMs + this.sentBytes / bytesPerMs;
  }

  end(reason: string): void {
    this.#ended.abort(new ObjectStoreError("unreachable", `${this.#uri}: ${reason}`));
  }
}

/** An object of the right size was uploaded completely, so it is not uploaded again. */
async function upload(store: ObjectStore, uri: string, content: Content, own: RunningUpload): Promise<void> {
  const { signal } = own;
  const size = await content.size();
  if (size !== undefined && size >= ASK_FIRST_BYTES && (await sizeThere(store, uri, signal)) === size) return;
  await put(store, uri, content, { signal, count: (bytes) => (own.sentBytes += bytes) });
  if (size === undefined) await content.counted?.(own.sentBytes);
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
        if (!hasKeys) throw new ObjectStoreError("denied", NO_S3_KEYS);
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
