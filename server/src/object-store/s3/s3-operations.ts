/**
 * Operations that only S3 has. Bodies are buffers, or can be read several times, because every request may have to be
 * repeated.
 */
import type { CallOptions, ByteRange, ObjectStat, ObjectStore } from "../object-store.ts";

export interface S3Store extends ObjectStore {
  /** Whether both stores are the same service with the same credentials, so that server-side copies are possible. */
  sharesService(other: S3Store): boolean;
  /** Reads a whole object or a range into memory; much faster than `get` for small objects. */
  read(uri: string, options?: ReadOptions): Promise<ReadObject>;
  head(uri: string, options?: HeadOptions): Promise<ObjectDetails>;
  write(uri: string, body: Buffer, options?: WriteOptions): Promise<Written>;
  /** A body that does not fit into memory. `contents` is called for each attempt. At most 5 GiB. */
  writeStream(
    uri: string,
    bytes: number,
    contents: () => AsyncIterable<Buffer>,
    options?: WriteOptions,
  ): Promise<Written>;
  /** At most 5 GiB. Fails if the source has changed since `ifMatch`. */
  copy(source: string, destination: string, options: CopyObjectOptions): Promise<Written>;
  createUpload(uri: string, options?: WriteOptions): Promise<string>;
  uploadPart(upload: Upload, number: number, body: Buffer, options?: PartOptions): Promise<UploadedPart>;
  copyPart(upload: Upload, number: number, source: PartSource, options?: PartOptions): Promise<UploadedPart>;
  completeUpload(upload: Upload, parts: readonly UploadedPart[], options?: CompleteOptions): Promise<Written>;
  /** Succeeds if there is no such upload. */
  abortUpload(upload: Upload, options?: CallOptions): Promise<void>;
  /** Uploads below the prefix that are neither completed nor aborted. */
  openUploads(prefixUri: string, options?: CallOptions): AsyncIterable<Upload>;
  /**
   * At most 1,000 objects of one bucket. Returns the failures. Sends each request once, because a repeated delete may delete
   * what was written after the first: the caller looks again before it tries again.
   */
  deleteObjects(objects: readonly ObjectVersion[], options?: CallOptions): Promise<readonly DeleteFailure[]>;
  /** Like `list`, in pages and in no order: the key space is split so that several pages are read at the same time. */
  listPages(prefixUri: string, options?: ListPagesOptions): AsyncIterable<readonly ListedObject[]>;
  /** Requests that were repeated so far. */
  readonly retryCount: number;
}

export interface ReadOptions extends HeadOptions {
  readonly range?: ByteRange | undefined;
  /** Fails with the code `PreconditionFailed` if the object has another ETag. */
  readonly ifMatch?: string | undefined;
  /** The size of the whole object, if it is known. Large reads are faster if the range or this is given. */
  readonly expectedBytes?: number | undefined;
  /** Memory for a large body, as long as the range or the object. The bytes may still come in other memory. */
  readonly into?: Buffer | undefined;
  /** A larger body is an error. */
  readonly limitBytes?: number | undefined;
}

export interface HeadOptions extends CallOptions {
  /** For objects that are encrypted with a key of the customer: 32 bytes in base64. */
  readonly customerKey?: string | undefined;
}

export interface ReadObject extends ObjectDetails {
  readonly bytes: Buffer;
}

/** `size` is that of the whole object. */
export interface ObjectDetails extends ObjectStat {
  readonly attributes: ObjectAttributes;
  /** Of the whole object, in base64; null if the store has none. */
  readonly crc32: string | null;
  /** False: the ETag is not the MD5 of the contents, because they are encrypted or came in parts. */
  readonly isEtagMd5: boolean;
}

/** The properties that a copy keeps. Undefined: the store's default. */
export interface ObjectAttributes {
  readonly contentType?: string | undefined;
  readonly contentEncoding?: string | undefined;
  readonly cacheControl?: string | undefined;
  readonly contentDisposition?: string | undefined;
  readonly contentLanguage?: string | undefined;
  /** Without the prefix `x-amz-meta-`. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  readonly storageClass?: string | undefined;
}

/** Encryption at rest of a new object. */
export type ObjectEncryption =
  | { readonly algorithm: "AES256" }
  | { readonly algorithm: "SSE-KMS"; readonly keyId: string | null }
  | { readonly algorithm: "SSE-C"; readonly key: string };

export interface WriteOptions extends CallOptions {
  readonly attributes?: ObjectAttributes | undefined;
  readonly encryption?: ObjectEncryption | undefined;
  /** Fails with `changed` unless the object has this ETag, and with `unconditional` if the store refuses conditions. */
  readonly ifMatch?: string | undefined;
}

export interface CopyObjectOptions extends CallOptions {
  readonly ifMatch: string;
  /** The size of the source, if it is known. The answer for a large one may take longer. */
  readonly bytes?: number | undefined;
  /** Undefined: those of the source are kept. The storage class is always sent. */
  readonly attributes?: ObjectAttributes | undefined;
  readonly storageClass: string;
  readonly encryption?: ObjectEncryption | undefined;
  readonly sourceCustomerKey?: string | undefined;
}

export interface Upload {
  readonly uri: string;
  readonly uploadId: string;
}

export interface PartOptions extends CallOptions {
  /** The same as for the creation of the upload. */
  readonly encryption?: ObjectEncryption | undefined;
}

export interface CompleteOptions extends PartOptions {
  /** As for a write. */
  readonly ifMatch?: string | undefined;
}

export interface PartSource {
  readonly uri: string;
  readonly range: Required<ByteRange>;
  readonly ifMatch: string;
  readonly customerKey?: string | undefined;
}

/** The properties of each part that the completion of an upload needs. */
export interface UploadedPart {
  readonly number: number;
  readonly etag: string;
  /** Of the part, in base64; null if the store does not return one. */
  readonly crc32: string | null;
  /** The store has confirmed a checksum of our bytes. False for parts of server-side copies. */
  readonly isVerified: boolean;
}

export interface Written {
  readonly etag: string | null;
  /**
   * A checksum proves that the store holds the right bytes: it has returned the one of the body, of each part, or the ETag
   * of the source of a copy. If false, the caller can only compare sizes.
   */
  readonly isVerified: boolean;
}

export interface ObjectVersion {
  readonly uri: string;
  /** Delete the object only if it has this ETag. Some stores ignore it, others refuse the request. Null: any. */
  readonly etag: string | null;
}

export interface DeleteFailure {
  readonly uri: string;
  readonly code: string;
  readonly isTransient: boolean;
  /** The store has not answered, or not readably: it may have deleted the object all the same. */
  readonly isUnanswered: boolean;
}

export interface ListPagesOptions extends CallOptions {
  /** Requests at the same time. */
  readonly concurrency?: number | undefined;
}

export interface ListedObject {
  readonly uri: string;
  readonly key: string;
  readonly size: number;
  readonly modifiedMs: number;
  readonly etag: string | null;
  readonly storageClass: string | null;
}
