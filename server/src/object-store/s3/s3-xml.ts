import { parseXml, XmlElement } from "@rgrove/parse-xml";

/** The few documents of S3. The parser knows only XML's five predefined entities, so no entity can expand. */
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

/** Throws if the text is not such a document. */
export function parseListPage(xml: string): ListPage {
  const root = rootOf(xml, "ListBucketResult");
  const decode = textOf(root, "EncodingType") === "url" ? decodeFormText : (text: string): string => text;
  const isTruncated = textOf(root, "IsTruncated") === "true";
  return {
    entries: childrenOf(root, "Contents").map((entry) => ({
      key: decode(required(entry, "Key")),
      size: integer(required(entry, "Size")),
      modifiedMs: timeMs(required(entry, "LastModified")),
      etag: textOf(entry, "ETag")?.replaceAll('"', "") ?? null,
      storageClass: textOf(entry, "StorageClass"),
    })),
    prefixes: childrenOf(root, "CommonPrefixes").map((each) => decode(required(each, "Prefix"))),
    nextToken: isTruncated ? required(root, "NextContinuationToken") : null,
  };
}

export function parseUploadId(xml: string): string {
  return required(rootOf(xml, "InitiateMultipartUploadResult"), "UploadId");
}

/** The only texts of the server that error messages contain, so each must be a single word. */
const errorWord = /^[A-Za-z0-9.-]{1,128}$/;

export interface ErrorDocument {
  readonly code: string | null;
  readonly region: string | null;
  readonly endpoint: string | null;
}

/** All null for any other text. */
export function parseError(xml: string): ErrorDocument {
  let root: XmlElement | null = null;
  try {
    root = xml.includes("<Error") ? rootOf(xml.trimStart(), "Error") : null;
  } catch {
    // not XML, for example a proxy's error page, or truncated
  }
  const word = (name: string): string | null => {
    const text = root === null ? null : textOf(root, name);
    return text !== null && errorWord.test(text) ? text : null;
  };
  return { code: word("Code"), region: word("Region"), endpoint: word("Endpoint") };
}

/** The result of a copy inside the store, of a copied part, or of a completed upload. */
export interface WriteResult {
  readonly etag: string;
  readonly crc32: string | null;
}

export function parseWriteResult(xml: string, name: WriteResultName): WriteResult {
  const flat = flatElements(xml, name);
  const etag = flat?.get("ETag");
  if (flat !== undefined && etag !== undefined) {
    return { etag: etag.replaceAll(QUOTE, ""), crc32: flat.get("ChecksumCRC32") ?? null };
  }
  const root = rootOf(xml.trimStart(), name); // spaces keep the connection alive while the store works
  return { etag: required(root, "ETag").replaceAll('"', ""), crc32: textOf(root, "ChecksumCRC32") };
}

const QUOTE = /"|&quot;|&#34;/g;
const DECLARATION = /^\s*(?:<\?xml [^<>]*\?>\s*)?/;
const FLAT_ELEMENT = /\s*<(\w+)>((?:[^<>&]|&quot;|&#34;)*)<\/\1>/y;

/**
 * The texts of a document that consists of elements without attributes, children and escapes, except for quotes. Undefined
 * for any other: it needs the parser, which takes longer than the rest of a request.
 */
function flatElements(xml: string, rootName: string): Map<string, string> | undefined {
  const start = DECLARATION.exec(xml)?.[0].length ?? 0;
  const begin = [`<${rootName}>`, `<${rootName} xmlns="${NAMESPACE}">`].find((tag) => xml.startsWith(tag, start));
  if (begin === undefined) return undefined;
  const texts = new Map<string, string>();
  let end = start + begin.length;
  for (FLAT_ELEMENT.lastIndex = end; ;) {
    const [, name = "", text = ""] = FLAT_ELEMENT.exec(xml) ?? [];
    if (name === "") break;
    if (!texts.has(name)) texts.set(name, text);
    end = FLAT_ELEMENT.lastIndex;
  }
  return xml.slice(end).trim() === `</${rootName}>` ? texts : undefined;
}

type WriteResultName = "CopyObjectResult" | "CopyPartResult" | "CompleteMultipartUploadResult";

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

export function parseDeleteFailures(xml: string): { key: string; code: string }[] {
  const failures = childrenOf(rootOf(xml, "DeleteResult"), "Error");
  return failures.map((failure) => {
    const code = required(failure, "Code");
    return { key: required(failure, "Key"), code: errorWord.test(code) ? code : "Unknown" };
  });
}

export interface UploadsPage {
  readonly uploads: readonly { readonly key: string; readonly uploadId: string }[];
  /** Null on the last page. */
  readonly next: { readonly key: string; readonly uploadId: string } | null;
}

export function parseUploadsPage(xml: string): UploadsPage {
  const root = rootOf(xml, "ListMultipartUploadsResult");
  const decode = textOf(root, "EncodingType") === "url" ? decodeFormText : (text: string): string => text;
  const isTruncated = textOf(root, "IsTruncated") === "true";
  return {
    uploads: childrenOf(root, "Upload").map((each) => ({
      key: decode(required(each, "Key")),
      uploadId: required(each, "UploadId"),
    })),
    next: isTruncated
      ? { key: decode(required(root, "NextKeyMarker")), uploadId: textOf(root, "NextUploadIdMarker") ?? "" }
      : null,
  };
}

const NAMESPACE = "http://s3.amazonaws.com/doc/2006-03-01/";
const forbiddenInXml = /[^\P{Cc}\t\n]|[\uFFFE\uFFFF]/u;

function escape(text: string): string {
  return text.replaceAll(/[&<>"\r\n\t]/g, (char) => `&#${char.charCodeAt(0)};`);
}

/** Parsing blocks and its time grows with the markup. A page of 1,000 keys has about 25,000 marks. */
const MAX_MARKS = 100_000;
const MARK = /[<&=]/g;

function rootOf(xml: string, name: string): XmlElement {
  let marks = 0;
  for (MARK.lastIndex = 0; MARK.test(xml); marks += 1)
    if (marks === MAX_MARKS) throw new Error("the document has too many tags");
  // The parser does the same, but copies the whole text for each line.
  const { root } = parseXml(xml.replaceAll(/\r\n?/g, "\n"));
  if (root?.name !== name) throw new Error(`the document is not a ${name}`);
  return root;
}

function childrenOf(element: XmlElement, name: string): XmlElement[] {
  return element.children.filter((child): child is XmlElement => child instanceof XmlElement && child.name === name);
}

function textOf(element: XmlElement, name: string): string | null {
  return childrenOf(element, name)[0]?.text ?? null;
}

function required(element: XmlElement, name: string): string {
  const text = textOf(element, name);
  if (text === null) throw new Error(`${element.name} has no ${name}`);
  return text;
}

export function integer(text: string): number {
  const value = Number(text);
  if (text === "" || !Number.isSafeInteger(value) || value < 0) throw new Error("a size is not an integer");
  return value;
}

export function timeMs(text: string): number {
  const value = Date.parse(text);
  if (Number.isNaN(value)) throw new Error("a time is not valid");
  return value;
}

/** `encoding-type=url` is form encoding: a plus is a space. */
export function decodeFormText(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}
