import { ObjectStoreError } from "../../../object-store/object-store-error.ts";
import { formatObjectUri, parseObjectUri } from "../../../object-store/object-uri.ts";
import type {
  ObjectAttributes,
  ObjectDetails,
  ObjectEncryption,
  S3Store,
  UploadedPart,
} from "../../../object-store/s3/s3-operations.ts";
import { multipartEtag } from "../../../object-store/s3/s3-multipart.ts";
import { CopyError } from "../copy-error.ts";
import type { Journal } from "../journal.ts";
import type { SourceFile } from "../plan/planned-output.ts";
import { removeObjects } from "./remove-objects.ts";
import type { RemovalRetries } from "./remove-sources.ts";
import { joinPieces } from "./join-pieces.ts";
import { SourceKey } from "./source-key.ts";
import {
  lastName,
  nameBelow,
  type FoundFile,
  type KeptSource,
  type OutputPlan,
  type OutputWriter,
  type Range,
  type ReadBytes,
  type RemovableFile,
  type Storage,
} from "./storage.ts";

export interface S3StorageOptions {
  readonly store: S3Store;
  /** Encryption and storage class of written objects. */
  readonly encryption: ObjectEncryption | null;
  readonly storageClass: string | null;
  /** The key for sources that are encrypted with a customer's key; null: none was given. */
  readonly sourceKey: string | null;
  readonly journal: Pick<Journal, "noteUpload" | "noteClosed">;
  readonly removal: RemovalRetries;
  readonly signal: AbortSignal;
}

/** The largest object that S3 copies or accepts in one request. */
export const COPY_LIMIT_BYTES = 5 * 1024 ** 3;
/** Less than the ten seconds between SIGTERM and the kill. Uploads that are still open then are in the journal. */
const ABORT_MS = 8_000;

/** Objects of S3. */
export class S3Storage implements Storage {
  readonly scheme = "s3";
  readonly store: S3Store;
  readonly #options: S3StorageOptions;
  readonly #sourceKey: SourceKey;

  constructor(options: S3StorageOptions) {
    this.#options = options;
    this.store = options.store;
    this.#sourceKey = new SourceKey(options.sourceKey);
  }

  async *list(uri: string): AsyncGenerator<readonly SourceFile[]> {
    const folder = folderOf(uri);
    let isEmpty = true;
    for await (const page of this.store.listPages(folder, { signal: this.#options.signal })) {
      if (page.length === 0) continue;
      isEmpty = false;
      const files: SourceFile[] = [];
      for (const { uri: found, size, modifiedMs, etag, storageClass } of page) {
        const name = nameBelow(folder, found);
        if (name !== undefined) files.push({ uri: found, name, size, modifiedMs, etag, storageClass });
      }
      yield files;
    }
    const own = isEmpty && folder !== uri ? await this.find(uri) : undefined;
    if (own !== undefined) yield [{ ...own, uri, name: lastName(uri) }];
  }

  async find(uri: string): Promise<FoundFile | undefined> {
    const { key } = parseObjectUri(uri);
    if (key === "") return undefined;
    try {
      const details = await this.#sourceKey.use((customerKey) =>
        this.store.head(uri, { customerKey, signal: this.#options.signal }),
      );
      const { size, modifiedAt, etag, attributes } = details;
      return { size, modifiedMs: modifiedAt.getTime(), etag, storageClass: attributes.storageClass ?? null };
    } catch (error) {
      if (error instanceof ObjectStoreError && error.kind === "missing") return undefined;
      throw error;
    }
  }

  async read(source: SourceFile, range: Range, into?: Buffer): Promise<ReadBytes> {
    const isWhole = range.length === source.size;
    if (range.length === 0) return { bytes: Buffer.alloc(0), attributes: await this.attributesOf(source) };
    const found = await this.#sourceKey
      .use((customerKey) =>
        this.store.read(source.uri, {
          range: isWhole ? undefined : range,
          expectedBytes: source.size,
          limitBytes: range.length,
          into,
          ifMatch: source.etag ?? undefined,
          customerKey,
          signal: this.#options.signal,
        }),
      )
      .catch((error: unknown) => {
        throw explainChange(source.uri, error);
      });
    if (found.bytes.length !== range.length) throw changedWhileCopied(source.uri);
    return found;
  }

  async crc32Of(source: SourceFile): Promise<number | null> {
    const { crc32, etag } = await this.#head(source);
    return crc32 === null || etag !== source.etag ? null : Buffer.from(crc32, "base64").readUInt32BE();
  }

  async attributesOf(source: SourceFile): Promise<ObjectAttributes> {
    return (await this.#head(source)).attributes;
  }

  async write(uri: string, bytes: Buffer, attributes: ObjectAttributes): Promise<void> {
    const { signal } = this.#options;
    const { isVerified } = await this.store.write(uri, bytes, { ...this.#newObject(attributes), signal });
    if (!isVerified) await this.#verifySize(uri, bytes.length);
  }

  /** Writes an object of up to 5 GiB in one request. `contents` is called again if the request has to be repeated. */
  async writeStream(
    uri: string,
    bytes: number,
    contents: () => AsyncIterable<Buffer>,
    attributes: ObjectAttributes,
  ): Promise<void> {
    const { signal } = this.#options;
    const { isVerified } = await this.store.writeStream(uri, bytes, contents, {
      ...this.#newObject(attributes),
      signal,
    });
    if (!isVerified) await this.#verifySize(uri, bytes);
  }

  async create(uri: string, { attributes }: OutputPlan): Promise<OutputWriter> {
    const { signal, journal } = this.#options;
    const encryption = this.#options.encryption ?? undefined;
    const uploadId = await this.store.createUpload(uri, { ...this.#newObject(attributes), signal });
    const upload = { uri, uploadId };
    const parts: UploadedPart[] = [];
    const discard = async (): Promise<void> => {
      await this.store.abortUpload(upload, { signal: AbortSignal.timeout(ABORT_MS) });
      journal.noteClosed(upload);
    };
    await journal.noteUpload(upload).catch(async (error: unknown) => {
      await discard();
      throw error;
    });
    return {
      write: async ({ number, bytes }) => {
        parts.push(await this.store.uploadPart(upload, number, joinPieces(bytes), { encryption, signal }));
      },
      copyPart: async ({ number }, source, range) => {
        const part = await this.#copyPart(upload, number, source, range);
        parts.push(part);
      },
      finish: async (totalBytes) => {
        parts.sort((one, other) => one.number - other.number);
        const isFound = await this.store
          .completeUpload(upload, parts, { encryption, signal })
          .then(() => true, unlessGone);
        journal.noteClosed(upload);
        const { etag } = await this.#verifySize(uri, totalBytes);
        // After a lost answer, the repeated request finds no upload. Only the ETag shows that our parts became the object.
        if (!isFound && (etag === null || etag !== multipartEtag(parts))) {
          throw new CopyError(`${uri}: the upload was aborted by another client or rule; copy it again`);
        }
      },
      discard,
    };
  }

  /** A server-side copy of an object of at most 5 GiB. */
  async serverSideCopy(source: SourceFile, uri: string): Promise<void> {
    const { encryption, signal } = this.#options;
    const etag = source.etag ?? (await this.#head(source)).etag ?? "";
    const { isVerified } = await this.#sourceKey
      .use((sourceCustomerKey) =>
        this.store.copy(source.uri, uri, {
          ifMatch: etag,
          bytes: source.size,
          storageClass: this.#options.storageClass ?? source.storageClass ?? "STANDARD",
          encryption: encryption ?? undefined,
          sourceCustomerKey,
          signal,
        }),
      )
      .catch((error: unknown) => {
        throw explainChange(source.uri, error);
      });
    if (!isVerified) await this.#verifySize(uri, source.size);
  }

  canCopyFrom(other: Storage): other is S3Storage {
    return other instanceof S3Storage && this.store.sharesService(other.store);
  }

  remove(sources: readonly RemovableFile[]): Promise<readonly KeptSource[]> {
    const { removal, signal } = this.#options;
    return removeObjects(sources, { ...removal, store: this.store, find: (uri) => this.find(uri), signal });
  }

  removeTemporary(uri: string): Promise<void> {
    return this.store.delete(uri, { signal: AbortSignal.timeout(ABORT_MS) });
  }

  removeOutput(uri: string): Promise<void> {
    return this.store.delete(uri, { signal: this.#options.signal });
  }

  removeUnfinished(): Promise<void> {
    return Promise.resolve(); // an object is not visible before it is complete; open uploads are in the journal
  }

  settle(): Promise<void> {
    return Promise.resolve(); // S3 acknowledges objects when they are durable
  }

  close(): Promise<void> {
    return this.store.close();
  }

  async #copyPart(
    upload: { uri: string; uploadId: string },
    number: number,
    source: SourceFile,
    range: Range,
  ): Promise<UploadedPart> {
    const { signal } = this.#options;
    const encryption = this.#options.encryption ?? undefined;
    return this.#sourceKey
      .use((customerKey) =>
        this.store.copyPart(
          upload,
          number,
          { uri: source.uri, range, ifMatch: source.etag ?? "", customerKey },
          { encryption, signal },
        ),
      )
      .catch((error: unknown) => {
        throw explainChange(source.uri, error);
      });
  }

  #newObject(attributes: ObjectAttributes): { attributes: ObjectAttributes; encryption: ObjectEncryption | undefined } {
    const { storageClass, encryption } = this.#options;
    const own = storageClass === null ? {} : { storageClass };
    return { attributes: { ...attributes, ...own }, encryption: encryption ?? undefined };
  }

  async #head(source: Pick<SourceFile, "uri">): Promise<ObjectDetails> {
    const { signal } = this.#options;
    return this.#sourceKey.use((customerKey) => this.store.head(source.uri, { customerKey, signal }));
  }

  async #verifySize(uri: string, bytes: number): Promise<ObjectDetails> {
    const { encryption, signal } = this.#options;
    const customerKey = encryption?.algorithm === "SSE-C" ? encryption.key : undefined;
    const found = await this.store.head(uri, { customerKey, signal }).catch((error: unknown) => {
      const isMissing = error instanceof ObjectStoreError && error.kind === "missing";
      throw isMissing ? new CopyError(`${uri}: the store has accepted the copy but does not have it`) : error;
    });
    if (found.size === bytes) return found;
    throw new CopyError(`${uri}: the copy has ${found.size} bytes instead of ${bytes}; copy it again`);
  }
}

/** The URI with a slash at its end, unless it is a whole bucket. */
function folderOf(uri: string): string {
  const parsed = parseObjectUri(uri);
  const { key } = parsed;
  return formatObjectUri({ ...parsed, key: key === "" || key.endsWith("/") ? key : `${key}/` });
}

function unlessGone(error: unknown): false {
  if (error instanceof ObjectStoreError && error.code === "NoSuchUpload") return false;
  throw error;
}

function explainChange(uri: string, error: unknown): unknown {
  const isChanged = error instanceof ObjectStoreError && error.code === "PreconditionFailed";
  return isChanged ? changedWhileCopied(uri) : error;
}

function changedWhileCopied(uri: string): CopyError {
  return new CopyError(`${uri}: the object has changed while it was copied`);
}
