/**
 * Objects that are uploaded in parts. Readers see such an object only when the upload is completed. Until an upload is
 * completed or aborted, S3 keeps its parts, which no listing shows, and charges for them.
 */
import { createHash, hash } from "node:crypto";
import { unreadable, ObjectStoreError } from "../object-store-error.ts";
import type { CallOptions } from "../object-store.ts";
import { formatObjectUri } from "../object-uri.ts";
import { RepeatedPages } from "./repeated-pages.ts";
import type { S3Call, S3Client } from "./s3-client.ts";
import {
  headersOfAttributes,
  headersOfEncryption,
  headersOfPartEncryption,
  isCrc32,
  rangeHeader,
} from "./s3-headers.ts";
import { headersOfCondition, refusedCondition } from "./s3-condition.ts";
import {
  crc32Text,
  etagOf,
  headersOfCopySource,
  isVerified,
  readDocument,
  storedBefore,
  WRITE_ANSWER_BYTES,
} from "./s3-objects.ts";
import type {
  CompleteOptions,
  PartOptions,
  PartSource,
  Upload,
  UploadedPart,
  WriteOptions,
  Written,
} from "./s3-operations.ts";
import { objectOf, s3UriOf } from "./s3-uri.ts";
import { formatPartList, parseUploadId, parseUploadsPage, parseWriteResult, type UploadsPage } from "./s3-xml.ts";

export const MAX_PARTS = 10_000;
const abortOthersMs = 5_000;
const validEtag = /^[A-Za-z0-9+/=_.-]{1,256}$/;

export async function createUpload(
  client: S3Client,
  uri: string,
  { attributes, encryption, signal }: WriteOptions = {},
): Promise<string> {
  const { uri: target, subject } = objectOf(uri);
  const headers = {
    ...headersOfAttributes(attributes),
    ...headersOfEncryption(encryption),
    "x-amz-checksum-algorithm": "CRC32", // without it, S3 refuses the checksums of parts
  };
  const { bucket, key } = target;
  let isUnknown = false;
  const onUnknownOutcome = (): void => void (isUnknown = true);
  const query = { uploads: "" };
  const call: S3Call = { method: "POST", bucket, key, query, headers, subject, signal, onUnknownOutcome };
  let created: string | undefined;
  try {
    created = readDocument(await client.collect(call), subject, parseUploadId);
    return created;
  } finally {
    if (isUnknown && signal?.aborted !== true) await abortOthers(client, uri, created);
  }
}

/** If the response to a creation is lost, the store has an upload whose id is unknown. */
async function abortOthers(client: S3Client, uri: string, created: string | undefined): Promise<void> {
  const signal = AbortSignal.timeout(abortOthersMs);
  try {
    for await (const upload of openUploads(client, uri, { signal })) {
      if (upload.uri === uri && upload.uploadId !== created) await abortUpload(client, upload, { signal });
    }
  } catch {
    // The store may not allow the listing. The upload has no parts yet, so it costs nothing.
  }
}

export async function uploadPart(
  client: S3Client,
  upload: Upload,
  number: number,
  body: Buffer,
  { encryption, signal }: PartOptions = {},
): Promise<UploadedPart> {
  const { call, subject } = callOf(upload, { partNumber: String(number) });
  const checksum = crc32Text(body);
  const headers = { ...headersOfPartEncryption(encryption), "x-amz-checksum-crc32": checksum };
  return client.collectAs({ ...call, method: "PUT", headers, body, signal }, WRITE_ANSWER_BYTES, (answer) => {
    const returned = answer.headers["x-amz-checksum-crc32"];
    return {
      number,
      etag: checkedEtag(etagOf(answer), subject),
      crc32: isCrc32(returned) ? returned : null,
      isVerified: isVerified(answer, { crc32: checksum, md5: () => hash("md5", body) }, subject),
    };
  });
}

export async function copyPart(
  client: S3Client,
  upload: Upload,
  number: number,
  source: PartSource,
  { encryption, signal }: PartOptions = {},
): Promise<UploadedPart> {
  const { call, subject } = callOf(upload, { partNumber: String(number) });
  const headers = {
    ...headersOfCopySource(source.uri, source.ifMatch, source.customerKey),
    "x-amz-copy-source-range": rangeHeader(source.range),
    ...headersOfPartEncryption(encryption),
  };
  const copied = { mayFailLate: true, copiedBytes: source.range.length };
  const answer = await client.collect({ ...call, method: "PUT", headers, signal, ...copied });
  const { etag, crc32 } = readDocument(answer, subject, (xml) => parseWriteResult(xml, "CopyPartResult"));
  return { number, etag: checkedEtag(etag, subject), crc32: isCrc32(crc32) ? crc32 : null, isVerified: false };
}

/** S3 may start to respond before it knows the outcome: the document, not the status, reports success. */
export async function completeUpload(
  client: S3Client,
  upload: Upload,
  parts: readonly UploadedPart[],
  { encryption, ifMatch, signal }: CompleteOptions = {},
): Promise<Written> {
  const { call, subject } = callOf(upload, {});
  const body = Buffer.from(formatPartList(parts.toSorted((one, other) => one.number - other.number)));
  const headers = { ...headersOfPartEncryption(encryption), ...headersOfCondition(ifMatch) };
  const verified = parts.every((part) => part.isVerified);
  let isRetried = false;
  const onRetry = (): void => void (isRetried = true);
  try {
    const answer = await client
      .collect({ ...call, method: "POST", headers, body, signal, onRetry, mayFailLate: true })
      .catch(refusedCondition(subject, ifMatch));
    const { etag } = readDocument(answer, subject, (xml) => parseWriteResult(xml, "CompleteMultipartUploadResult"));
    return { etag, isVerified: verified };
  } catch (error) {
    if (!isRetried) throw error;
    const { etag } = await storedBefore(client, upload.uri, { error, etag: () => multipartEtag(parts), signal });
    return { etag, isVerified: verified };
  }
}

/** The ETag that S3 gives to an object of these parts; null if the ETags of the parts are not MD5s. */
export function multipartEtag(parts: readonly UploadedPart[]): string | null {
  const md5 = createHash("md5");
  for (const { etag } of parts.toSorted((one, other) => one.number - other.number)) {
    if (!/^[0-9a-f]{32}$/.test(etag)) return null;
    md5.update(etag, "hex");
  }
  return `${md5.digest("hex")}-${parts.length}`;
}

export async function abortUpload(client: S3Client, upload: Upload, { signal }: CallOptions = {}): Promise<void> {
  const { call } = callOf(upload, {});
  try {
    await client.collect({ ...call, method: "DELETE", signal });
  } catch (error) {
    const isGone = error instanceof ObjectStoreError && error.kind === "missing" && error.code !== "NoSuchBucket";
    if (!isGone) throw error;
  }
}

export async function* openUploads(
  client: S3Client,
  prefixUri: string,
  { signal }: CallOptions = {},
): AsyncGenerator<Upload> {
  const uri = s3UriOf(prefixUri);
  const { bucket } = uri;
  const subject = formatObjectUri(uri);
  const seen = new RepeatedPages();
  for (let marker: UploadsPage["next"] = null; ;) {
    const query: Record<string, string> = {
      uploads: "",
      "encoding-type": "url",
      ...(uri.key === "" ? {} : { prefix: uri.key }),
      ...(marker === null ? {} : { "key-marker": marker.key, "upload-id-marker": marker.uploadId }),
    };
    const answer = await client.collect({ method: "GET", bucket, key: "", query, subject, signal });
    const page: UploadsPage = readDocument(answer, subject, parseUploadsPage);
    for (const { key, uploadId } of page.uploads) {
      // Some stores ignore the prefix.
      if (key.startsWith(uri.key)) yield { uri: formatObjectUri({ ...uri, key }), uploadId };
    }
    marker = page.next;
    if (marker === null) return;
    // Several pages may end with uploads of the same key.
    if (seen.isRepeated({ token: JSON.stringify([marker.key, marker.uploadId]), lastKey: undefined })) {
      throw unreadable(subject, new Error("the listing repeats a page"));
    }
  }
}

function callOf(
  { uri: text, uploadId }: Upload,
  query: Record<string, string>,
): { call: Omit<S3Call, "method">; subject: string } {
  const { uri, subject } = objectOf(text);
  return { call: { bucket: uri.bucket, key: uri.key, query: { ...query, uploadId }, subject }, subject };
}

function checkedEtag(etag: string | null, subject: string): string {
  if (etag !== null && validEtag.test(etag)) return etag;
  throw unreadable(subject, new Error("the response for a part has no valid ETag"));
}
