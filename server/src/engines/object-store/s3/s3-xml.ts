import { parseXml, XmlElement } from "@rgrove/parse-xml";

/** The few documents S3 speaks. The parser defines no entity but XML's own five, so nothing expands. */
export interface ListPage {
  entries: { key: string; size: number; modifiedAt: Date; etag: string | null }[];
  /** What a listing by delimiter has put together, each with the delimiter at its end. */
  prefixes: string[];
  /** Null on the last page. */
  nextToken: string | null;
}

/** Throws where the text is no such document. */
export function parseListPage(xml: string): ListPage {
  const root = rootOf(xml, "ListBucketResult");
  const decode = textOf(root, "EncodingType") === "url" ? decodeFormText : (text: string): string => text;
  const isTruncated = textOf(root, "IsTruncated") === "true";
  return {
    entries: childrenOf(root, "Contents").map((entry) => ({
      key: decode(required(entry, "Key")),
      size: integer(required(entry, "Size")),
      modifiedAt: date(required(entry, "LastModified")),
      etag: textOf(entry, "ETag")?.replaceAll('"', "") ?? null,
    })),
    prefixes: childrenOf(root, "CommonPrefixes").map((each) => decode(required(each, "Prefix"))),
    nextToken: isTruncated ? required(root, "NextContinuationToken") : null,
  };
}

export function parseUploadId(xml: string): string {
  return required(rootOf(xml, "InitiateMultipartUploadResult"), "UploadId");
}

/** The code of an error document; null for any other text. */
export function parseErrorCode(xml: string): string | null {
  try {
    const code = textOf(rootOf(xml, "Error"), "Code");
    // The only text of a server that reaches a message: a word, or nothing.
    return code !== null && /^[A-Za-z0-9.]{1,64}$/.test(code) ? code : null;
  } catch {
    return null; // not XML: a proxy's page, or cut off
  }
}

export function formatPartList(etags: readonly string[]): string {
  const parts = etags.map(
    (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>&quot;${etag}&quot;</ETag></Part>`,
  );
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join("")}</CompleteMultipartUpload>`;
}

/** A page of 1,000 keys has some 25,000. The parser's time grows with them, and it blocks. */
const MOST_MARKS = 100_000;
const MARK = /[<&=]/g;

function rootOf(xml: string, name: string): XmlElement {
  let marks = 0;
  for (MARK.lastIndex = 0; MARK.test(xml); marks += 1)
    if (marks === MOST_MARKS) throw new Error("it has too many tags");
  // The parser does the same, but copies the whole text for each.
  const { root } = parseXml(xml.replaceAll(/\r\n?/g, "\n"));
  if (root?.name !== name) throw new Error(`the document is no ${name}`);
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

function integer(text: string): number {
  const value = Number(text);
  if (text === "" || !Number.isSafeInteger(value) || value < 0) throw new Error("a size is no integer");
  return value;
}

function date(text: string): Date {
  const value = new Date(text);
  if (Number.isNaN(value.getTime())) throw new Error("a time is no time");
  return value;
}

/** `encoding-type=url` is what forms send: a plus is a space. */
function decodeFormText(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}
