/** Reads and writes the XML documents of the S3 API. */
import { XmlReader } from "./xml-reader.ts";

export interface ListPage {
  entries: PageEntry[];
  /** Common prefixes of a listing with a delimiter, including the delimiter. */
  prefixes: string[];
  /** Null on the last page. */
  nextToken: string | null;
}

export interface PageEntry {
  readonly key: string;
  readonly size: number;
  readonly modifiedMs: number;
  readonly etag: string | null;
  readonly storageClass: string | null;
}

/** Throws if the bytes are not such a document. */
export function parseListPage(xml: Buffer): ListPage {
  const reader = new XmlReader(xml, "ListBucketResult");
  const entries: Writable<PageEntry>[] = [];
  const prefixes: string[] = [];
  const [timeOf, classOf] = [remembered(timeMs), remembered(copied)];
  let isEncoded = false;
  let isTruncated = false;
  let token: string | null = null;
  for (let name = reader.next(); name !== null; name = reader.next()) {
    if (name === "Contents") entries.push(readEntry(reader, timeOf, classOf));
    else if (name === "CommonPrefixes") prefixes.push(required(readTexts(reader, "Prefix"), "Prefix"));
    else if (name === "EncodingType") isEncoded = reader.text() === "url";
    else if (name === "IsTruncated") isTruncated = reader.text() === "true";
    else if (name === "NextContinuationToken") token = reader.text();
    else reader.skip();
  }
  if (isTruncated && token === null) throw new Error("a truncated page does not name the next one");
  if (isEncoded) for (const entry of entries) entry.key = decodeFormText(entry.key);
  return {
    entries,
    prefixes: isEncoded ? prefixes.map(decodeFormText) : prefixes,
    nextToken: isTruncated ? token : null,
  };
}

type Writable<T> = { -readonly [name in keyof T]: T[name] };

/** Does not use `readTexts`, because a listing spends most of its time here. */
function readEntry(
  reader: XmlReader,
  timeOf: (text: string) => number,
  classOf: (text: string) => string,
): Writable<PageEntry> {
  let key: string | undefined;
  let size: number | undefined;
  let modifiedMs: number | undefined;
  let etag: string | null = null;
  let storageClass: string | null = null;
  for (let name = reader.next(); name !== null; name = reader.next()) {
    if (name === "Key") key = reader.text();
    else if (name === "Size") size = integer(reader.word());
    else if (name === "LastModified") modifiedMs = timeOf(reader.word());
    else if (name === "ETag") etag = unquoted(reader.word());
    else if (name === "StorageClass") storageClass = classOf(reader.word());
    else reader.skip();
  }
  if (key === undefined || size === undefined || modifiedMs === undefined) throw new Error("an entry is incomplete");
  return { key, size, modifiedMs, etag, storageClass };
}

export function parseUploadId(xml: Buffer): string {
  return required(readTexts(new XmlReader(xml, "InitiateMultipartUploadResult"), "UploadId"), "UploadId");
}

/** The only texts of the server that error messages contain, so each must be a single word. */
const errorWord = /^[A-Za-z0-9.-]{1,128}$/;

export interface ErrorDocument {
  readonly code: string | null;
  readonly region: string | null;
  readonly endpoint: string | null;
}

/** All null for anything else, for example a proxy's error page or a truncated document. */
export function parseError(xml: Buffer): ErrorDocument {
  const texts = errorTexts(xml);
  const word = (name: string): string | null => {
    const text = texts?.get(name);
    return text !== undefined && errorWord.test(text) ? text : null;
  };
  return { code: word("Code"), region: word("Region"), endpoint: word("Endpoint") };
}

function errorTexts(xml: Buffer): ReadonlyMap<string, string> | null {
  try {
    return xml.includes("<Error") ? readTexts(new XmlReader(xml, "Error"), "Code", "Region", "Endpoint") : null;
  } catch {
    return null;
  }
}

/** The result of a server-side copy, of a copied part, or of a completed upload. */
export interface WriteResult {
  readonly etag: string;
  readonly crc32: string | null;
}

export function parseWriteResult(
  xml: Buffer,
  name: "CopyObjectResult" | "CopyPartResult" | "CompleteMultipartUploadResult",
): WriteResult {
  const texts = readTexts(new XmlReader(xml, name), "ETag", "ChecksumCRC32");
  return { etag: required(texts, "ETag").replaceAll('"', ""), crc32: texts.get("ChecksumCRC32") ?? null };
}

export function formatPartList(parts: readonly ListedPart[]): string {
  const list = parts.map(({ number, etag, crc32 }) => {
    const checksum = crc32 === null ? "" : `<ChecksumCRC32>${escape(crc32)}</ChecksumCRC32>`;
    return `<Part><PartNumber>${number}</PartNumber><ETag>&quot;${escape(etag)}&quot;</ETag>${checksum}</Part>`;
  });
  return `<CompleteMultipartUpload xmlns="${NAMESPACE}">${list.join("")}</CompleteMultipartUpload>`;
}

export interface ListedPart {
  readonly number: number;
  readonly etag: string;
  readonly crc32: string | null;
}

/** An object with an ETag is deleted only if it still has it. Quiet: the response lists only failures. */
export function formatDeleteList(objects: readonly { readonly key: string; readonly etag: string | null }[]): string {
  const list = objects.map(({ key, etag }) => {
    const condition = etag === null ? "" : `<ETag>&quot;${escape(etag)}&quot;</ETag>`;
    return `<Object><Key>${escape(key)}</Key>${condition}</Object>`;
  });
  return `<Delete xmlns="${NAMESPACE}"><Quiet>true</Quiet>${list.join("")}</Delete>`;
}

/** XML cannot express most control characters, and a parser may replace carriage returns. */
export function canBeDeletedInList(key: string): boolean {
  return !forbiddenInXml.test(key);
}

export function parseDeleteFailures(xml: Buffer): { key: string; code: string }[] {
  const reader = new XmlReader(xml, "DeleteResult");
  const failures: { key: string; code: string }[] = [];
  for (let name = reader.next(); name !== null; name = reader.next()) {
    if (name === "Error") failures.push(readFailure(reader));
    else reader.skip();
  }
  return failures;
}

function readFailure(reader: XmlReader): { key: string; code: string } {
  const texts = readTexts(reader, "Key", "Code");
  const code = required(texts, "Code");
  return { key: required(texts, "Key"), code: errorWord.test(code) ? code : "Unknown" };
}

export interface UploadsPage {
  readonly uploads: readonly { readonly key: string; readonly uploadId: string }[];
  /** Null on the last page. */
  readonly next: { readonly key: string; readonly uploadId: string } | null;
}

export function parseUploadsPage(xml: Buffer): UploadsPage {
  const reader = new XmlReader(xml, "ListMultipartUploadsResult");
  const uploads: { key: string; uploadId: string }[] = [];
  const next = { key: "", uploadId: "" };
  let decode = (text: string): string => text;
  let isTruncated = false;
  for (let name = reader.next(); name !== null; name = reader.next()) {
    if (name === "Upload") uploads.push(readUpload(reader));
    else if (name === "EncodingType") decode = reader.text() === "url" ? decodeFormText : decode;
    else if (name === "IsTruncated") isTruncated = reader.text() === "true";
    else if (name === "NextKeyMarker") next.key = reader.text();
    else if (name === "NextUploadIdMarker") next.uploadId = reader.text();
    else reader.skip();
  }
  if (isTruncated && next.key === "") throw new Error("a truncated page does not name the next one");
  return {
    uploads: uploads.map(({ key, uploadId }) => ({ key: decode(key), uploadId })),
    next: isTruncated ? { ...next, key: decode(next.key) } : null,
  };
}

function readUpload(reader: XmlReader): { key: string; uploadId: string } {
  const texts = readTexts(reader, "Key", "UploadId");
  return { key: required(texts, "Key"), uploadId: required(texts, "UploadId") };
}

const NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/";
const forbiddenInXml = /[^\P{Cc}\t\n]|[\uFFFE\uFFFF]/u;

function escape(text: string): string {
  return text.replaceAll(/[&<>"\r\n\t]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** The texts of the children of the open element that have these names. Closes the element. */
function readTexts(reader: XmlReader, ...names: readonly string[]): ReadonlyMap<string, string> {
  const texts = new Map<string, string>();
  for (let name = reader.next(); name !== null; name = reader.next()) {
    if (names.includes(name)) texts.set(name, reader.text());
    else reader.skip();
  }
  return texts;
}

function required(texts: ReadonlyMap<string, string>, name: string): string {
  const text = texts.get(name);
  if (text === undefined) throw new Error(`the document has no ${name}`);
  return text;
}

function integer(text: string): number {
  const value = Number(text);
  if (!/^\d{1,16}$/.test(text) || !Number.isSafeInteger(value)) throw new Error("a size is not an integer");
  return value;
}

function timeMs(text: string): number {
  const value = Date.parse(text);
  if (Number.isNaN(value)) throw new Error("a time is not valid");
  return value;
}

function unquoted(text: string): string {
  const bare = text.replaceAll(/"|&quot;|&#34;/g, "");
  return bare.length === text.length ? copied(text) : bare;
}

/** A slice of a page would keep the page in memory. */
function copied(text: string): string {
  return Buffer.from(text).toString();
}

/** Objects that were written together often have the same time and class. */
function remembered<T>(convert: (text: string) => T): (text: string) => T {
  let last: { readonly text: string; readonly value: T } | undefined;
  return (text) => (last?.text === text ? last : (last = { text, value: convert(text) })).value;
}

/** `encoding-type=url` is form encoding: a plus is a space. */
function decodeFormText(text: string): string {
  return text.includes("%") || text.includes("+") ? decodeURIComponent(text.replaceAll("+", " ")) : text;
}
