import type { AccountStorage, OpenStorage } from "../accounts/contract.ts";
import { NO_S3_KEYS } from "../object-store/object-store-error.ts";
import type { ObjectStore, UnfinishedPut } from "../object-store/object-store.ts";
import { memoryOfUpload } from "../object-store/s3/body-parts.ts";
import { formatObjectUri, parseObjectUri, type ObjectUri } from "../object-store/object-uri.ts";
import { Fault } from "../lib/fault.ts";
import type { DiskReservation } from "../lib/disk-reservation.ts";
import { lazy } from "../lib/lazy.ts";
import { fileFault } from "./file-fault.ts";
import type { EndUpload, UnfinishedUploads } from "./unfinished-uploads.ts";
import { UploadMemory } from "./upload-memory.ts";

/** What the operations on files need besides the database; `compose/` passes it in. */
export interface WithAccountFiles {
  accountFiles: AccountFiles;
}

export interface AccountFiles {
  /** Runs `work` with the account's storage, and closes it afterwards. Translates the errors of the store. */
  use<T>(accountId: number, work: (files: OpenFiles) => Promise<T>): Promise<T>;
  /** The same, but if `work` succeeds, it or its result closes the storage. */
  lend<T>(accountId: number, work: (files: OpenFiles, close: () => Promise<void>) => Promise<T>): Promise<T>;
}

export interface AccountFilesOptions {
  readonly storage: AccountStorage;
  readonly uploads: Pick<UnfinishedUploads, "note">;
  readonly disk: DiskAllowance;
  /** Creates the account's folder, which may not exist before its first program. */
  readonly makeFolder: (accountId: number, path: string) => Promise<void>;
}

/** The share of the node's disk that an account may use. */
export interface DiskAllowance {
  /** Throws the refusal if the account has no room for so many bytes, or for any if it is undefined. */
  reserve(accountId: number, bytes: number | undefined): Promise<DiskReservation>;
}

/** The files of one account. */
export interface OpenFiles {
  readonly store: ObjectStore;
  readonly uriOf: (path: string) => string;
  /** The path of a key that the store has listed. */
  readonly pathOf: (key: string) => string;
  readonly keyOf: (path: string) => string;
  /** Whether paths are those of folders and files; keys of S3 can be any text. */
  readonly hasFolders: boolean;
  /** The store has accepted the account's keys. */
  readonly noteWorks: () => Promise<void>;
  readonly noteUnfinished: (unfinished: UnfinishedPut) => Promise<EndUpload>;
  /** For an upload of so many bytes. Throws the refusal, or returns a function that releases the memory. */
  readonly takeMemory: (bytes: number | undefined) => () => void;
  /** Undefined: the files are not on this node's disk. */
  readonly reserveDisk: ((bytes: number | undefined) => Promise<DiskReservation>) | undefined;
}

export function accountFiles(options: AccountFilesOptions): AccountFiles {
  const memory = new UploadMemory();
  const lend: AccountFiles["lend"] = async (accountId, work) => {
    const opened = await options.storage.open(accountId);
    const close = lazy(() => opened.store.close());
    try {
      return await work(await openFiles({ ...options, memory }, accountId, opened), close);
    } catch (error) {
      await close();
      throw faultOf(error);
    }
  };
  return {
    lend,
    use: (accountId, work) =>
      lend(accountId, async (files, close) => {
        const result = await work(files);
        await close();
        return result;
      }),
  };
}

function faultOf(error: unknown): unknown {
  const retryAfterSeconds = 10;
  switch (error instanceof Error ? error.name : "") {
    case "TimeoutError":
      return new Fault("unavailable", "The storage of the account has taken too long. Try again later.", {
        cause: error,
        retryAfterSeconds,
      });
    case "AbortError": // if the client has disconnected, the fault is not sent
      return new Fault("unavailable", "The server is being stopped. Try again later.", { retryAfterSeconds });
    default:
      return fileFault(error);
  }
}

async function openFiles(
  { uploads, disk, makeFolder, memory }: AccountFilesOptions & { readonly memory: UploadMemory },
  accountId: number,
  opened: OpenStorage,
): Promise<OpenFiles> {
  const { store, location, hasKeys, hdfsHttpAddress } = opened;
  const parsed = parseObjectUri(`${location.replace(/\/+$/, "")}/`);
  const { scheme } = parsed;
  // HDFS does the same, and its lists have such keys. Old locations may have several slashes in a row.
  const base = scheme === "hdfs" ? { ...parsed, key: parsed.key.replaceAll(/\/+/g, "/") } : parsed;
  if (scheme === "s3" && !hasKeys) throw new Fault("invalid", `The storage cannot be used: ${NO_S3_KEYS}`);
  if (scheme === "hdfs" && hdfsHttpAddress === null) {
    throw new Fault("invalid", "The storage cannot be used: the account's hdfs_http_address is not set");
  }
  if (scheme === "file") await makeFolder(accountId, base.key);
  const uriOf = (path: string): string => formatObjectUri(below(base, path));
  return {
    store,
    uriOf,
    keyOf: (path) => below(base, path).key,
    hasFolders: scheme !== "s3",
    pathOf: (key) => key.slice(base.key.length),
    noteWorks: async () => (scheme === "s3" ? opened.noteKeysWork() : undefined),
    noteUnfinished: (unfinished) => uploads.note(accountId, unfinished),
    takeMemory: (bytes) => memory.take(accountId, scheme === "s3" ? memoryOfUpload(bytes) : 0),
    reserveDisk: scheme === "file" ? (bytes) => disk.reserve(accountId, bytes) : undefined,
  };
}

function below(base: ObjectUri, path: string): ObjectUri {
  return { ...base, key: `${base.key}${path}` };
}
