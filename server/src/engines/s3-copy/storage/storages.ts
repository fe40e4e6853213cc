import { addressRefusal } from "../../../lib/network-policy.ts";
import type { CheckAddress } from "../../../lib/guarded-lookup.ts";
import { temporaryName } from "../../../object-store/file/temporary-name.ts";
import type { AgentLimits } from "../../../object-store/guarded-agent.ts";
import { hdfsStore, type HdfsStore } from "../../../object-store/hdfs/hdfs-store.ts";
import { NO_S3_KEYS } from "../../../object-store/object-store-error.ts";
import { parseObjectUri } from "../../../object-store/object-uri.ts";
import type { S3Store } from "../../../object-store/s3/s3-operations.ts";
import { s3Store } from "../../../object-store/s3/s3-store.ts";
import { CopyError } from "../copy-error.ts";
import type { CopyAccount, CopyRequest } from "../copy-request.ts";
import { mayExist, outputUri } from "../destination.ts";
import type { Journal } from "../journal.ts";
import { CopyArgumentError } from "../options/copy-argument-error.ts";
import type { CopyOptions } from "../options/copy-options.ts";
import { fileStorage } from "./file-storage.ts";
import { hdfsStorage } from "./hdfs-storage.ts";
import { checkTransport, endpointUrl, isProtected, partitionOf } from "./s3-endpoint.ts";
import type { RemovalRetries } from "./remove-sources.ts";
import { S3Storage } from "./s3-storage.ts";
import type { SpoolFolder, Storage } from "./storage.ts";

export interface OpenOptions {
  readonly request: CopyRequest;
  readonly options: CopyOptions;
  readonly journal: StorageJournal;
  readonly slots: number;
  readonly signal: AbortSignal;
  readonly limits?: Partial<AgentLimits & { readonly retries: number }>;
}

/** The part of the journal that storages write. */
export type StorageJournal = Pick<Journal, "id" | "noteUpload" | "noteClosed" | "noteTemporary" | "noteRemoved">;

type Side = "from" | "to";

const RETRIES = 8;
/** §4.4. */
const DEFAULT_TMP_DIR = "hdfs:///tmp";

/** The storages of a copy. Each is opened when it is first needed. */
export class Storages {
  readonly #given: OpenOptions;
  readonly #opened = new Map<string, Storage>();
  /** The stores that may repeat requests. */
  readonly #stores: (S3Store | HdfsStore)[] = [];
  readonly #checkAddress: CheckAddress;
  readonly #removal: RemovalRetries;
  #repeatedDeletes = 0;
  #spooled = 0;
  /** The first source: all others are in the same kind of store. */
  #source: string | null;
  readonly to: Storage;

  constructor(given: OpenOptions) {
    this.#given = given;
    this.#checkAddress = (address) => addressRefusal(address, given.request.allowedNetworks) ?? null;
    const onRetry = (): void => void (this.#repeatedDeletes += 1);
    this.#removal = { retries: given.limits?.retries ?? RETRIES, onRetry };
    const { src, dest, encryption, tmpDir } = given.options;
    if (tmpDir !== null && parseObjectUri(tmpDir).scheme === "s3") {
      throw new CopyArgumentError(
        "--tmpDir must be on HDFS or in the storage folder (file:), because temporary data is not encrypted.",
      );
    }
    this.to = this.#open(dest, "to");
    if (this.to.scheme === "s3" && encryption !== null) checkTransport(this.#endpointOf("to"), "destination");
    this.#source = src;
    if (src !== null) this.#open(src, "from");
  }

  /** The storage of all sources. Without `--src`, it is known once the first source is known. */
  get from(): Storage {
    return this.#open(this.#source ?? this.#given.options.dest, "from");
  }

  /** The storage of a URI on the source's side, such as a manifest. */
  at(uri: string): Storage {
    return this.#open(uri, "from");
  }

  /** The storage of a source. Fails if other sources are in another kind of store. */
  ofSource(uri: string): Storage {
    this.#source ??= uri;
    if (parseObjectUri(uri).scheme === this.from.scheme) return this.from;
    throw new CopyError(`${uri}: a source in another kind of store than --src or the first source`);
  }

  /** The folder for temporary files (`--tmpDir`, §4.4). */
  spoolFolder(): SpoolFolder {
    const { request, journal } = this.#given;
    const tmpDir = this.#tmpDir();
    const nameOf = (number: number): string => `${temporaryPrefix(journal)}${number}`;
    if (tmpDir === null) {
      const { scratchFolder } = request;
      const storage = this.#once("scratch", () => fileStorage(scratchFolder, journal.id, false));
      // Removed with the attempt's folder, whatever happens to the process.
      const newFile = (): Promise<string> => Promise.resolve(`file://${scratchFolder}/${nameOf(++this.#spooled)}`);
      return { storage, newFile, noteRemoved: () => undefined };
    }
    const newFile = async (): Promise<string> => {
      const uri = outputUri(tmpDir, nameOf(++this.#spooled));
      await journal.noteTemporary(uri);
      return uri;
    };
    return { storage: this.at(tmpDir), newFile, noteRemoved: (uri) => journal.noteRemoved(uri) };
  }

  /** Whether `spoolFolder` may have created this file. */
  isTemporary(uri: string): boolean {
    const tmpDir = this.#tmpDir();
    const prefix = tmpDir === null ? undefined : outputUri(tmpDir, temporaryPrefix(this.#given.journal));
    return prefix !== undefined && uri.startsWith(prefix) && /^\d+$/.test(uri.slice(prefix.length));
  }

  #tmpDir(): string | null {
    const { request, options } = this.#given;
    return options.tmpDir ?? (request.account.hdfs === null ? null : DEFAULT_TMP_DIR);
  }

  /** The URI that `storage:/` stands for. */
  get location(): string {
    return this.#given.request.account.location;
  }

  /** Whether a URI means the same file on both sides. */
  get isSameService(): boolean {
    const { from, to } = this;
    if (!(to instanceof S3Storage && from instanceof S3Storage)) return to.scheme === from.scheme;
    if (to.canCopyFrom(from)) return true;
    const { region } = this.#given.request.account.s3;
    const partition = partitionOf(this.#endpointOf("from"), region);
    return partition !== null && partition === partitionOf(this.#endpointOf("to"), region);
  }

  /** Whether the endpoints of both sides may be names of the same S3, which only its objects can show. */
  get mayBeSameService(): boolean {
    const { from, to } = this;
    return to instanceof S3Storage && from instanceof S3Storage && !this.isSameService;
  }

  /** Whether requests to S3 are signed with the account's own keys. */
  get usesAccountKeys(): boolean {
    const isS3 = ({ scheme }: Storage): boolean => scheme === "s3";
    return this.#given.options.credentials === null && [...this.#opened.values()].some(isS3);
  }

  /** Requests that were repeated so far. */
  get retryCount(): number {
    return this.#stores.reduce((sum, store) => sum + store.retryCount, this.#repeatedDeletes);
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opened.values()].map((storage) => storage.close()));
  }

  #open(uri: string, side: Side): Storage {
    const { request, options, journal, signal } = this.#given;
    const { hdfs, fileRoot } = request.account;
    switch (parseObjectUri(uri).scheme) {
      case "s3":
        return this.#openS3(side);
      case "file":
        return this.#once("file", () => fileStorage(fileRoot, journal.id, mayExist(options)));
      case "hdfs": {
        if (hdfs === null) throw noHdfs(request);
        return this.#once("hdfs", () => hdfsStorage(this.#hdfsStore(hdfs), this.#removal, signal));
      }
    }
  }

  #hdfsStore(hdfs: NonNullable<CopyAccount["hdfs"]>): HdfsStore {
    const { journal, limits } = this.#given;
    const checkAddress = this.#checkAddress;
    const nameTemporary = (path: string): string => temporaryName(journal.id, path);
    const retrying = { retries: RETRIES, retriesTimeouts: true };
    const store = hdfsStore({ ...hdfs, checkAddress, nameTemporary, ...retrying, ...limits });
    this.#stores.push(store);
    return store;
  }

  /**
   * Both sides share their connections and the limit of requests if they have the same endpoint. Without multipart
   * upload they must not: the request that writes an object occupies its slot while the contents are still read, and
   * the reads would wait for slots that only finished writes free.
   */
  #openS3(side: Side): Storage {
    const { options, journal, signal } = this.#given;
    const { encryption, storageClass, disableMultipartUpload } = options;
    const endpoint = this.#endpointOf(side);
    const key = encryption?.algorithm === "SSE-C" ? encryption.key : null;
    // If the destination is not in S3, the key can only be meant for the sources.
    if (side === "from" && key !== null && this.to.scheme !== "s3") checkTransport(endpoint, "source");
    return this.#once(`s3 ${side}`, () => {
      const other = this.#opened.get(`s3 ${side === "from" ? "to" : "from"}`);
      const isSameEndpoint = this.#endpointOf("from") === this.#endpointOf("to");
      const isShared = other instanceof S3Storage && isSameEndpoint && !disableMultipartUpload;
      return new S3Storage({
        store: isShared ? other.store : this.#s3Store(endpoint),
        encryption: side === "from" ? null : encryption,
        storageClass: side === "from" ? null : storageClass,
        // The destination needs it too, because it gets the requests of server-side copies.
        sourceKey: isProtected(endpoint) ? key : null,
        journal,
        removal: this.#removal,
        signal,
      });
    });
  }

  #s3Store(endpoint: string | null): S3Store {
    const { request, options, slots, limits: given } = this.#given;
    const { region, credentials: ofAccount } = request.account.s3;
    const credentials = options.credentials ?? ofAccount;
    if (credentials === null) throw new CopyError(NO_S3_KEYS);
    const checkAddress = this.#checkAddress;
    const limits = { retries: RETRIES, ...given, retriesTimeouts: true, maxConnections: slots };
    const store = s3Store({ endpoint, region, credentials, checkAddress, ...limits });
    this.#stores.push(store);
    return store;
  }

  #endpointOf(side: Side): string | null {
    const { request, options } = this.#given;
    const { endpoint } = request.account.s3;
    const given = (side === "from" ? options.srcS3Endpoint : null) ?? options.s3Endpoint;
    return given === null ? endpoint : endpointUrl(given, endpoint);
  }

  #once(name: string, open: () => Storage): Storage {
    const storage = this.#opened.get(name) ?? open();
    this.#opened.set(name, storage);
    return storage;
  }
}

/** Users may mean a file of the server by a path without a scheme. */
function noHdfs({ words }: CopyRequest): CopyError {
  const hint = words.some((word) => /^(--?\w+=)?\//.test(word))
    ? "; a path without a scheme means HDFS, and files in the account's storage folder on the server are file:///…"
    : "";
  return new CopyError(`the account has no HDFS: set hdfs_http_address of the account${hint}`);
}

function temporaryPrefix({ id }: Pick<Journal, "id">): string {
  return `headgate-copy-${id}-`;
}
