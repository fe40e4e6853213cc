import { hash } from "node:crypto";
import type { ByteRange, ObjectStat } from "../object-store.ts";
import { ObjectStoreError, unreadable } from "../object-store-error.ts";
import { encodeHeaderWords, readHeaderText, writeHeaderText } from "./header-text.ts";
import type { ResponseHead, ResponseHeaders } from "./response-head.ts";
import type { ObjectAttributes, ObjectDetails, ObjectEncryption } from "./s3-operations.ts";

/** The headers of S3 for attributes, encryption and checksums. */
export type Headers = Record<string, string>;

const attributeHeaders = {
  contentType: "content-type",
  contentEncoding: "content-encoding",
  cacheControl: "cache-control",
  contentDisposition: "content-disposition",
  contentLanguage: "content-language",
} as const;
const attributeNames = Object.keys(attributeHeaders) as (keyof typeof attributeHeaders)[]; // the keys of a constant
const metadataPrefix = "x-amz-meta-";
const storageClassHeader = "x-amz-storage-class";
const metadataName = /^[A-Za-z0-9!#$%&'*+.^_`|~-]{1,256}$/;

export function headersOfAttributes(attributes: ObjectAttributes | undefined): Headers {
  if (attributes === undefined) return {};
  const headers: Headers = {};
  for (const name of attributeNames) {
    const value = attributes[name];
    if (value !== undefined) headers[attributeHeaders[name]] = writeHeaderText(value);
  }
  for (const [name, value] of Object.entries(attributes.metadata ?? {})) {
    if (!metadataName.test(name)) {
      throw new ObjectStoreError("bad-request", "the name of a metadata entry must be a word of ASCII characters");
    }
    headers[`${metadataPrefix}${name.toLowerCase()}`] = encodeHeaderWords(value);
  }
  if (attributes.storageClass !== undefined) headers[storageClassHeader] = attributes.storageClass;
  return headers;
}

/** For a request that creates an object or an upload. */
export function headersOfEncryption(encryption: ObjectEncryption | undefined): Headers {
  switch (encryption?.algorithm) {
    case undefined:
      return {};
    case "AES256":
      return { "x-amz-server-side-encryption": "AES256" };
    case "SSE-KMS": {
      const keyId = encryption.keyId;
      return {
        "x-amz-server-side-encryption": "aws:kms",
        ...(keyId === null ? {} : { "x-amz-server-side-encryption-aws-kms-key-id": keyId }),
      };
    }
    case "SSE-C":
      return headersOfCustomerKey(encryption.key);
  }
}

/** For the parts of an upload. S3 refuses parts that repeat an algorithm whose keys the store holds. */
export function headersOfPartEncryption(encryption: ObjectEncryption | undefined): Headers {
  return encryption?.algorithm === "SSE-C" ? headersOfCustomerKey(encryption.key) : {};
}

export function headersOfCustomerKey(key: string | undefined, role: "" | "copy-source-" = ""): Headers {
  if (key === undefined) return {};
  const prefix = `x-amz-${role}server-side-encryption-customer-`;
  return {
    [`${prefix}algorithm`]: "AES256",
    [`${prefix}key`]: key,
    [`${prefix}key-md5`]: hash("md5", Buffer.from(key, "base64"), "base64"),
  };
}

export function rangeHeader({ offset, length }: ByteRange): string {
  return `bytes=${offset}-${length === undefined ? "" : offset + length - 1}`;
}

export function quotedEtag(etag: string): string {
  return `"${etag}"`;
}

type Answered = Pick<ResponseHead, "status" | "headers">;

export function statOf({ status, headers }: Answered, subject: string, range: ByteRange | undefined): ObjectStat {
  const isPart = status === 206;
  if (isPart !== (range !== undefined))
    throw unreadable(subject, new Error("the response does not match the requested range"));
  const size = range === undefined ? Number(headers["content-length"]) : sizeOfRanged(headers["content-range"], range);
  if (!Number.isSafeInteger(size)) throw unreadable(subject, new Error("the response has no valid length"));
  const modifiedAt = new Date(headers["last-modified"] ?? "");
  if (Number.isNaN(modifiedAt.getTime()))
    throw unreadable(subject, new Error("the response has no valid Last-Modified"));
  return { size, modifiedAt, etag: headers["etag"]?.replaceAll('"', "") ?? null };
}

/** The size of the whole object; NaN if the response has another range than the requested one. */
function sizeOfRanged(contentRange: string | undefined, { offset, length = Infinity }: ByteRange): number {
  const [first, last, size] =
    /^bytes (\d+)-(\d+)\/(\d+)$/
      .exec(contentRange ?? "")
      ?.slice(1)
      .map(Number) ?? [];
  if (first === undefined || last === undefined || size === undefined) return NaN;
  return first === offset && last === Math.min(offset + length, size) - 1 ? size : NaN;
}

export function detailsOf(head: Answered, subject: string, range: ByteRange | undefined): ObjectDetails {
  const checksum = head.headers["x-amz-checksum-crc32"];
  // The checksum of an upload in parts ends with the number of parts: it is not the checksum of the bytes.
  const isComposite = head.headers["x-amz-checksum-type"] === "COMPOSITE";
  const crc32 = range === undefined && !isComposite && isCrc32(checksum) ? checksum : null;
  const stat = statOf(head, subject, range);
  return { ...stat, attributes: attributesOf(head.headers), crc32, isEtagMd5: isMd5(stat.etag, head.headers) };
}

/** The ETag of an upload in parts has another form. The ETag of an encrypted object looks like an MD5 but is none. */
export function isMd5(etag: string | null, headers: ResponseHeaders): boolean {
  const encryption = headers["x-amz-server-side-encryption"] ?? "AES256";
  const hasCustomerKey = headers["x-amz-server-side-encryption-customer-algorithm"] !== undefined;
  return etag !== null && /^[0-9a-f]{32}$/.test(etag) && encryption === "AES256" && !hasCustomerKey;
}

export function isCrc32(checksum: unknown): checksum is string {
  return typeof checksum === "string" && /^[A-Za-z0-9+/]{6}==$/.test(checksum);
}

function attributesOf(headers: ResponseHeaders): ObjectAttributes {
  const attributes: { -readonly [name in keyof ObjectAttributes]: ObjectAttributes[name] } = {};
  for (const name of attributeNames) {
    const value = headers[attributeHeaders[name]];
    if (value !== undefined) attributes[name] = readHeaderText(value);
  }
  const metadata: Record<string, string> = {};
  for (const name in headers) {
    if (!name.startsWith(metadataPrefix)) continue;
    metadata[name.slice(metadataPrefix.length)] = readHeaderText(headers[name] ?? "");
  }
  attributes.metadata = metadata;
  const storageClass = headers[storageClassHeader];
  if (storageClass !== undefined) attributes.storageClass = storageClass;
  return attributes;
}
