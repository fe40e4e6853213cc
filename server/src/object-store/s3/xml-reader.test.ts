import { parseXml, XmlElement } from "@rgrove/parse-xml";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { parseListPage, type ListPage } from "./s3-xml.ts";

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const entry = (key: string, more = ""): string =>
  `<Contents><Key>${key}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><ETag>&#34;abc&#34;</ETag><Size>7</Size>${more}</Contents>`;
const page = (inner: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix></Prefix><IsTruncated>true</IsTruncated><NextContinuationToken>t&amp;1</NextContinuationToken>${inner}</ListBucketResult>`;
const owner = "<Owner><ID>1</ID><DisplayName>Key</DisplayName></Owner>";
/** Undefined: an error. */
function read(xml: string): ListPage | undefined {
  try {
    return parseListPage(Buffer.from(xml));
  } catch {
    return undefined;
  }
}

/** The keys that a general parser finds. Undefined: an error. */
function parsedKeys(xml: string): string[] | undefined {
  const childrenOf = ({ children }: XmlElement, name: string): XmlElement[] =>
    children.filter((child): child is XmlElement => child instanceof XmlElement && child.name === name);
  try {
    const { root } = parseXml(xml);
    if (root?.name !== "ListBucketResult") return undefined;
    const isEncoded = childrenOf(root, "EncodingType")[0]?.text === "url";
    const keys = childrenOf(root, "Contents").map((found) => childrenOf(found, "Key")[0]?.text ?? "");
    return isEncoded ? keys.map((key) => decodeURIComponent(key.replaceAll("+", " "))) : keys;
  } catch {
    return undefined;
  }
}

describe("a page is read", () => {
  test.each([
    [
      "with all elements that stores send",
      page(entry("a", `${owner}<StorageClass>STANDARD</StorageClass>`) + entry("b")),
    ],
    ["with lines between its elements", page(`\n  ${entry("a").replaceAll("><", ">\n<")}\n`)],
    ["with entities", page(entry("a &lt;&amp;&gt; &quot;&apos;&#252;&#xFC;&amp;quot;"))],
    ["with encoded keys", page(`<EncodingType>url</EncodingType>${entry("a+b%2Bc%C3%BC")}${entry("plain")}`)],
    ["whose encoding comes last", page(`${entry("a+b")}<EncodingType>url</EncodingType>`)],
    ["with keys in UTF-8", page(entry("ü 🎉"))],
    ["with common prefixes", page("<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes>")],
    ["with empty elements", page(`<Delimiter/>${entry("a", "<Owner/>")}`)],
    ["without keys", page("")],
    ["with comments", page(`<!-- <x> -->${entry("a<!-- b -->c")}<!----><Other><!-- </Other> --></Other>`)],
    ["with CDATA sections", page(`${entry("a<![CDATA[<b>&amp;]]>c")}<Other>x<![CDATA[</Other>]]>y</Other>`)],
    [
      "with comments and processing instructions in text",
      page(`<Other>x<!-- </Other> -->y<?z </Other> ?></Other>${entry("a<?b ?>c")}`),
    ],
    ["with comments after its end", `${page(entry("a"))}\n<!-- x --> <?y z?>\n`],
    ["with attributes", page(entry("a").replace("<Key>", `<Key a=">" b='"/>' >`).replace("</Key>", "</Key >"))],
    ["with empty elements that have attributes", page(`<Delimiter a="/>" />${entry("a")}`)],
    ["with carriage returns", page(entry("a\r\nb"))],
    ["with unknown elements in others", page(`<Other>x<a><b>y</b><b/></a>z</Other>${entry("a")}`)],
    ["after a byte order mark", `\u{FEFF}${page(entry("a"))}`],
  ])("%s as a general parser reads it", (_, xml) => {
    expect(parsedKeys(xml)).toBeDefined();
    expect(read(xml)?.entries.map(({ key }) => key)).toEqual(parsedKeys(xml));
  });

  test("whatever prefix its names have", () => {
    const prefixed = page(entry("a")).replaceAll(/<(\/?)(?=[A-Z])/g, "<$1s:");
    expect(prefixed).toContain("<s:ListBucketResult xmlns");
    expect(read(prefixed)).toEqual(read(page(entry("a"))));
  });

  test("with its token, prefixes and classes", () => {
    const glacier = entry("k", "<StorageClass>GLACIER</StorageClass>");
    expect(read(page(`<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes>${glacier}`))).toEqual({
      entries: [
        { key: "k", size: 7, modifiedMs: Date.parse("2026-01-02T03:04:05Z"), etag: "abc", storageClass: "GLACIER" },
      ],
      prefixes: ["a/"],
      nextToken: "t&1",
    });
  });

  test("with any keys, plain and URL-encoded", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme" }).filter((key) => !/\p{Cc}/u.test(key))), (keys) => {
        const xml = page(keys.map((key) => entry(escape(key))).join(""));
        expect(read(xml)?.entries.map(({ key }) => key)).toEqual(keys);
        const encoded = page(
          `<EncodingType>url</EncodingType>${keys.map((key) => entry(encodeURIComponent(key))).join("")}`,
        );
        expect(read(encoded)?.entries.map(({ key }) => key)).toEqual(keys);
      }),
      { numRuns: 50 },
    );
  });
});

describe("a page is an error", () => {
  test.each([
    ["with a document type", `<!DOCTYPE x [<!ENTITY e "e">]>${page(entry("&e;"))}`],
    ["with unknown entities", page(entry("&nbsp;"))],
    ["with entities that are named like a method", page(entry("&constructor;"))],
    ["with unfinished entities", page(entry("&amp"))],
    ["with a lone surrogate", page(entry("&#xD800;"))],
    ["with elements in a key", page(entry("<b>a</b>"))],
    ["with mismatched end tags", page(entry("a").replace("</Key>", "</Keys>"))],
    ["with text between its elements", page(`x${entry("a")}`)],
    ["with a negative size", page(entry("a").replace(">7<", ">-7<"))],
    ["with a size in hexadecimal", page(entry("a").replace(">7<", ">0x7<"))],
    ["with a blank size", page(entry("a").replace(">7<", "> <"))],
    ["without a key", page(entry("a").replaceAll("Key>", "Other>"))],
    ["without an end", page(entry("a")).slice(0, -5)],
    ["with text after its end", `${page(entry("a"))}x`],
    ["that is another document", "<html>ListBucketResult</html>"],
    ["without a token", page("").replace(/<Next.*Token>/, "")],
    ["nested too deeply", page("<a>".repeat(70) + "</a>".repeat(70))],
    ["with too many elements", page("<a/>".repeat(100_001))],
    ["with too many elements in others", page(`<a>${"<a></a>".repeat(100_001)}</a>`)],
    ["with too many references", page(entry("&amp;".repeat(100_001)))],
    ["with too many comments", page("<!---->".repeat(100_001))],
    ["with too many comments in a key", page(entry("<!---->".repeat(100_001)))],
    ["with too many attributes", page(`<a${" b=''".repeat(100_001)}/>`)],
    ["with too many sections", page(entry("<![CDATA[]]>".repeat(100_001)))],
  ])("%s", (_, xml) => {
    expect(read(xml)).toBeUndefined();
  });

  test("or, if it is damaged anywhere, has the entries that a general parser finds", () => {
    const whole = page(
      ["a", "b c", "&amp;x"].map((key) => entry(key, "<StorageClass>GLACIER</StorageClass>")).join(""),
    );
    fc.assert(
      fc.property(
        fc.nat(whole.length),
        fc.nat(4),
        fc.constantFrom("", "<", ">", "/", "&", "x", "</"),
        (at, cut, put) => {
          const damaged = whole.slice(0, at) + put + whole.slice(at + cut);
          const parsed = parsedKeys(damaged);
          const found = read(damaged)?.entries.map(({ key }) => key);
          expect([undefined, parsed]).toContainEqual(parsed === undefined ? undefined : found);
        },
      ),
      { numRuns: 500 },
    );
  });
});
