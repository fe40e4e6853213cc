import { createHash, hash, type Hash } from "node:crypto";
import { crc32 } from "node:zlib";
import { ObjectStoreError, unreadable } from "../object-store-error.ts";
import type { RawAnswer } from "./raw-connection.ts";
import type { StreamedBody } from "./raw-request.ts";
import type { S3Call, S3Client } from "./s3-client.ts";
import { keyPath } from "./s3-address.ts";
import {
  detailsOf,
  headersOfAttributes,
  headersOfCustomerKey,
  headersOfEncryption,
  isMd5,
  quotedEtag,
  rangeHeader,
} from "./s3-headers.ts";
import type {
  CopyObjectOptions,
  HeadOptions,
  ObjectDetails,
  ReadObject,
  ReadOptions,
  WriteOptions,
  Written,
} from "./s3-operations.ts";
import { headersOfCondition, refusedCondition } from "./s3-condition.ts";
import { objectOf } from "./s3-uri.ts";
import { parseWriteResult } from "./s3-xml.ts";

/** Calls for one object, or a range of it, in one request each. */
const defaultReadLimitBytes = 512 * 1024 * 1024;
/** Smaller bodies get memory of their own, of the size that the store announces. */
const minDownloadBytes = 256 * 1024;
/** Answers to writes are empty. */
export const WRITE_ANSWER_BYTES = 64 * 1024;
const checksumMode = { "x-amz-checksum-mode": "ENABLED" };

export async function readObject(client: S3Client, text: string, options: ReadOptions = {}): Promise<ReadObject> {
  const { uri, subject } = objectOf(text);
  const { range, ifMatch, customerKey, signal, limitBytes = range?.length ?? defaultReadLimitBytes } = options;
  const headers = {
    ...(range === undefined ? checksumMode : { range: rangeHeader(range) }),
    ...(ifMatch === undefined ? {} : { "if-match": quotedEtag(ifMatch) }),
    ...headersOfCustomerKey(customerKey),
  };
  const { bucket, key } = uri;
  const call: S3Call = { method: "GET", bucket, key, headers, subject, signal };
  const read = (answer: RawAnswer): ReadObject => checkedContents(answer, subject, options);
  const bytesToRead = range?.length ?? options.expectedBytes ?? 0;
  const isSmall = bytesToRead < minDownloadBytes;
  return client.collectAs(call, isSmall ? limitBytes : (options.into ?? Buffer.allocUnsafeSlow(bytesToRead)), read);
}

/** Only whole objects have a checksum that their bytes can be compared with. */
function checkedContents(answer: RawAnswer, subject: string, { range, ifMatch }: ReadOptions): ReadObject {
  const details = detailsOf(answer, subject, range);
  const { size, crc32: expectedCrc32, isEtagMd5, etag } = details;
  const { bytes } = answer;
  const expected = range === undefined ? size : Math.min(range.length ?? Infinity, size - range.offset);
  if (bytes.length !== expected) throw unreadable(subject, new Error("the body has another length than announced"));
  if (ifMatch !== undefined && etag !== null && !isSameEtag(etag, ifMatch)) throw changed(subject); // If-Match was ignored
  const isRight =
    range !== undefined ||
    (expectedCrc32 === null ? !isEtagMd5 || hash("md5", bytes) === etag : crc32Text(bytes) === expectedCrc32);
  if (!isRight) throw new ObjectStoreError("bad-response", `${subject}: the contents do not match the checksum`);
  return { ...details, bytes };
}

/** Proxies mark ETags as weak. */
function isSameEtag(one: string, other: string): boolean {
  return one === other || one.replace(/^W\//, "") === other.replace(/^W\//, "");
}

function changed(subject: string): ObjectStoreError {
  const code = "PreconditionFailed";
  return new ObjectStoreError("bad-response", `${subject}: the response has another ETag than requested`, { code });
}

export async function headObject(client: S3Client, text: string, options: HeadOptions = {}): Promise<ObjectDetails> {
  const { uri, subject } = objectOf(text);
  const { bucket, key } = uri;
  const headers = { ...checksumMode, ...headersOfCustomerKey(options.customerKey) };
  const answer = await client.collect({ method: "HEAD", bucket, key, headers, subject, signal: options.signal });
  return detailsOf(answer, subject, undefined);
}

export async function writeObject(
  client: S3Client,
  text: string,
  body: Buffer,
  { attributes, encryption, ifMatch, signal }: WriteOptions = {},
): Promise<Written> {
  const { uri, subject } = objectOf(text);
  const { bucket, key } = uri;
  const checksum = crc32Text(body);
  const headers = {
    ...headersOfAttributes(attributes),
    ...headersOfEncryption(encryption),
    ...headersOfCondition(ifMatch),
    "x-amz-checksum-crc32": checksum,
  };
  let isRetried = false;
  const onRetry = (): void => void (isRetried = true);
  const call: S3Call = { method: "PUT", bucket, key, headers, body, subject, signal, onRetry };
  return client
    .collectAs(call, WRITE_ANSWER_BYTES, (answer) => ({
      etag: etagOf(answer),
      isVerified: isVerified(answer, { crc32: checksum, md5: () => hash("md5", body) }, subject),
    }))
    .catch(refusedCondition(subject, ifMatch))
    .catch((error: unknown) => {
      if (!isRetried) throw error;
      return storedBefore(client, text, { error, etag: () => hash("md5", body), signal });
    });
}

interface RefusedRetry extends HeadOptions {
  readonly error: unknown;
  /** The ETag of the object that the call writes; null if it is unknown. */
  readonly etag: () => string | null;
}

/** If the answer to a write is lost, the store refuses the retry because the write has succeeded. */
export async function storedBefore(
  client: S3Client,
  uri: string,
  { error, etag: expectedEtag, signal }: RefusedRetry,
): Promise<Written> {
  const isRefused = error instanceof ObjectStoreError && (error.kind === "changed" || error.code === "NoSuchUpload");
  const expected = isRefused ? expectedEtag() : null;
  const found = expected === null ? undefined : await headObject(client, uri, { signal }).catch(() => undefined);
  if (found === undefined || found.etag !== expected) throw error;
  return { etag: expected, isVerified: true };
}

/** Writes an object in one request, whatever its size. */
export async function streamObject(
  client: S3Client,
  text: string,
  body: StreamedBody,
  { attributes, encryption, signal }: WriteOptions = {},
): Promise<Written> {
  const { uri, subject } = objectOf(text);
  const { bucket, key } = uri;
  const headers = { ...headersOfAttributes(attributes), ...headersOfEncryption(encryption) };
  let md5 = createHash("md5");
  let failure: { readonly error: unknown } | undefined;
  const contents = (): AsyncIterable<Buffer> => {
    md5 = createHash("md5");
    failure = undefined;
    return hashed(body.contents(), md5, (error) => (failure = { error }));
  };
  const call: S3Call = { method: "PUT", bucket, key, headers, body: { ...body, contents }, subject, signal };
  return client
    .collectAs(call, WRITE_ANSWER_BYTES, (answer) => ({
      etag: etagOf(answer),
      isVerified: isVerified(answer, { crc32: null, md5: () => md5.digest("hex") }, subject),
    }))
    .catch((error: unknown) => {
      throw failure === undefined ? error : failure.error; // the cause, not the connection that broke because of it
    });
}

/** `onFailure` gets only errors of the contents, not those of the connection, which a stream throws in at `yield`. */
async function* hashed(
  contents: AsyncIterable<Buffer>,
  md5: Hash,
  onFailure: (error: unknown) => void,
): AsyncGenerator<Buffer> {
  const pieces = contents[Symbol.asyncIterator]();
  const next = async (): Promise<IteratorResult<Buffer, unknown>> => {
    try {
      return await pieces.next();
    } catch (error) {
      onFailure(error);
      throw error;
    }
  };
  try {
    for (let step = await next(); step.done !== true; step = await next()) {
      md5.update(step.value);
      yield step.value;
    }
  } finally {
    await pieces.return?.();
  }
}

export async function copyObject(
  client: S3Client,
  source: string,
  destination: string,
  options: CopyObjectOptions,
): Promise<Written> {
  const { uri, subject } = objectOf(destination);
  const { attributes, encryption, sourceCustomerKey, storageClass, signal } = options;
  const headers = {
    ...headersOfCopySource(source, options.ifMatch, sourceCustomerKey),
    "x-amz-metadata-directive": attributes === undefined ? "COPY" : "REPLACE",
    ...headersOfAttributes(attributes),
    "x-amz-storage-class": storageClass,
    ...headersOfEncryption(encryption),
  };
  const { bucket, key } = uri;
  const call: S3Call = { method: "PUT", bucket, key, headers, subject, signal, mayFailLate: true };
  const answer = await client.collect({ ...call, copiedBytes: options.bytes });
  const { etag } = readDocument(answer, subject, (xml) => parseWriteResult(xml, "CopyObjectResult"));
  return { etag, isVerified: etag === options.ifMatch };
}

export function headersOfCopySource(
  source: string,
  ifMatch: string,
  customerKey: string | undefined,
): Record<string, string> {
  const { bucket, key } = objectOf(source).uri;
  return {
    "x-amz-copy-source": `/${bucket}${keyPath(key)}`,
    ...(ifMatch === "" ? {} : { "x-amz-copy-source-if-match": quotedEtag(ifMatch) }), // not every store has ETags
    ...headersOfCustomerKey(customerKey, "copy-source-"),
  };
}

/** Four bytes, most significant first, in base64. */
export function crc32Text(bytes: Buffer): string {
  const four = Buffer.allocUnsafe(4);
  four.writeUInt32BE(crc32(bytes));
  return four.toString("base64");
}

/** The checksums of the bytes that were sent. `crc32`: null if it was not sent. */
export interface SentChecksums {
  readonly crc32: string | null;
  readonly md5: () => string;
}

/**
 * Whether the store has confirmed the bytes. Throws if it has other bytes. Stores without checksums return the MD5 as ETag,
 * unless they encrypt with a key of the customer or of KMS.
 */
export function isVerified(answer: RawAnswer, sent: SentChecksums, subject: string): boolean {
  const { headers } = answer;
  const returned = headers["x-amz-checksum-crc32"];
  const etag = etagOf(answer);
  const isByCrc32 = sent.crc32 !== null && returned !== undefined;
  if (!isByCrc32 && !isMd5(etag, headers)) return false;
  if (isByCrc32 ? returned === sent.crc32 : etag === sent.md5()) return true;
  throw new ObjectStoreError("bad-response", `${subject}: the store has other bytes than were sent`);
}

export function etagOf({ headers }: RawAnswer): string | null {
  return headers["etag"]?.replaceAll('"', "") ?? null;
}

/** Throws an error that does not quote the document if it is not the expected one. */
export function readDocument<T>(answer: RawAnswer, subject: string, parse: (xml: Buffer) => T): T {
  try {
    return parse(answer.bytes);
  } catch (error) {
    throw unreadable(subject, error);
  }
}
