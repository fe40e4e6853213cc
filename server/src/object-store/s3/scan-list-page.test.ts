import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { scanListPage } from "./scan-list-page.ts";
import { parseListPage, type ListPage } from "./s3-xml.ts";

const escape = (text: string): string => text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
const entry = (key: string, more = ""): string =>
  `<Contents><Key>${key}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><ETag>&#34;abc&#34;</ETag><Size>7</Size>${more}</Contents>`;
const page = (inner: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix></Prefix><IsTruncated>true</IsTruncated><NextContinuationToken>t&amp;1</NextContinuationToken>${inner}</ListBucketResult>`;
const owner = "<Owner><ID>1</ID><DisplayName>Key</DisplayName></Owner>";
const scan = (xml: string): ListPage | null => scanListPage(Buffer.from(xml));

function parse(xml: string): ListPage | null {
  try {
    return parseListPage(xml);
  } catch {
    return null;
  }
}

describe("a page is scanned", () => {
  test.each([
    [
      "with all elements that stores send",
      page(entry("a", `${owner}<StorageClass>STANDARD</StorageClass>`) + entry("b")),
    ],
    ["with lines between its elements", page(`\n  ${entry("a").replaceAll("><", ">\n<")}\n`)],
    ["with entities", page(entry("a &lt;&amp;&gt; &quot;&apos;&#252;&#xFC;"))],
    ["with encoded keys", page(`<EncodingType>url</EncodingType>${entry("a+b%2Bc%C3%BC")}${entry("plain")}`)],
    ["whose encoding comes last", page(`${entry("a+b")}<EncodingType>url</EncodingType>`)],
    ["with keys in UTF-8", page(entry("ü 🎉"))],
    ["with common prefixes", page("<CommonPrefixes><Prefix>a/</Prefix></CommonPrefixes>")],
    ["with empty elements", page(`<Delimiter/>${entry("a", "<Owner/>")}`)],
    ["without keys", page("")],
  ])("%s as the parser reads it", (_, xml) => {
    expect(scan(xml)).not.toBeNull();
    expect(scan(xml)).toEqual(parse(xml));
  });

  test("with any keys as the parser reads it", () => {
    fc.assert(
      fc.property(fc.array(fc.string({ unit: "grapheme" }).filter((key) => !/\p{Cc}/u.test(key))), (keys) => {
        const xml = page(keys.map((key) => entry(escape(key))).join(""));
        expect(scan(xml)?.entries.map(({ key }) => key)).toEqual(keys);
        const encoded = page(
          `<EncodingType>url</EncodingType>${keys.map((key) => entry(encodeURIComponent(key))).join("")}`,
        );
        expect(scan(encoded)?.entries.map(({ key }) => key)).toEqual(keys);
      }),
      { numRuns: 50 },
    );
  });
});

describe("anything else is left to the parser:", () => {
  test.each([
    ["comments", page(`<!-- x -->${entry("a")}`)],
    ["sections", page(entry("<![CDATA[a]]>"))],
    ["attributes", page(entry("a").replace("<Key>", '<Key a="<">'))],
    ["unknown entities", page(entry("&nbsp;"))],
    ["unfinished entities", page(entry("&amp"))],
    ["carriage returns", page(entry("a\r\nb"))],
    ["a negative size", page(entry("a").replace(">7<", ">-7<"))],
    ["no key", page(entry("a").replaceAll("Key>", "Other>"))],
    ["no end", page(entry("a")).slice(0, -5)],
    ["text after the end", `${page(entry("a"))}x`],
    ["another document", "<html>ListBucketResult</html>"],
    ["no token", page("").replace(/<Next.*Token>/, "")],
  ])("%s", (_, xml) => {
    expect(scan(xml)).toBeNull();
  });

  test("a damaged page never yields other entries than the parser finds", () => {
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
          const parsed = parse(damaged);
          expect([null, parsed]).toContainEqual(parsed === null ? null : scan(damaged));
        },
      ),
      { numRuns: 500 },
    );
  });
});
