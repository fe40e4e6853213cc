import { parseXml, XmlElement } from "@rgrove/parse-xml";

/** The few documents of S3. The parser knows only XML's five predefined entities, so no entity can expand. */
export interface ListPage {
  entries: { key: string; size: number; modifiedAt: Date; etag: string | null }[];
  /** Common prefixes of a listing with a delimiter, including the delimiter. */
  prefixes: string[];
  /** Null on the last page. */
  nextToken: string | null;
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
    // The only text of the server that error messages contain, so it must be a single word.
    return code !== null && /^[A-Za-z0-9.]{1,64}$/.test(code) ? code : null;
  } catch {
    return null; // not XML, for example a proxy's error page, or truncated
  }
}

export function formatPartList(etags: readonly string[]): string {
  const parts = etags.map(
    (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>&quot;${etag}&quot;</ETag></Part>`,
  );
  return `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts.join("")}</CompleteMultipartUpload>`;
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

function integer(text: string): number {
  const value = Number(text);
  if (text === "" || !Number.isSafeInteger(value) || value < 0) throw new Error("a size is not an integer");
  return value;
}

function date(text: string): Date {
  const value = new Date(text);
  if (Number.isNaN(value.getTime())) throw new Error("a time is not valid");
  return value;
}

/** `encoding-type=url` is form encoding: a plus is a space. */
function decodeFormText(text: string): string {
  return decodeURIComponent(text.replaceAll("+", " "));
}
