import { describe, expect, test } from "vitest";
import { formatPartList, parseError, parseListPage, parseUploadId, parseWriteResult } from "./s3-xml.ts";

const entry = (key: string): string =>
  `<Contents><Key>${key}</Key><LastModified>2026-01-02T03:04:05.000Z</LastModified><ETag>&quot;abc&quot;</ETag><Size>7</Size></Contents>`;
const page = (inner: string): string =>
  `<?xml version="1.0" encoding="UTF-8"?>\n<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${inner}</ListBucketResult>`;
const bytes = (text: string): Buffer => Buffer.from(text);

describe("a page of a listing", () => {
  test("keys keep their spaces, and the last page has no token", () => {
    expect(parseListPage(bytes(page(`<IsTruncated>false</IsTruncated>${entry(" a &amp; b ")}`)))).toEqual({
      entries: [
        { key: " a & b ", size: 7, modifiedMs: Date.parse("2026-01-02T03:04:05Z"), etag: "abc", storageClass: null },
      ],
      prefixes: [],
      nextToken: null,
    });
  });

  test("keys are decoded only if the store declares that it encoded them", () => {
    const keys = (inner: string): string[] => parseListPage(bytes(page(inner))).entries.map(({ key }) => key);
    expect(keys(entry("a+b%2Bc"))).toEqual(["a+b%2Bc"]);
    expect(keys(`<EncodingType>url</EncodingType>${entry("a+b%2Bc%01")}`)).toEqual(["a b+c\u0001"]);
  });

  test("keys with a delimiter are grouped by their prefix", () => {
    const prefixes = "<CommonPrefixes><Prefix>a%3D1/</Prefix></CommonPrefixes>";
    expect(parseListPage(bytes(page(`<EncodingType>url</EncodingType>${prefixes}`))).prefixes).toEqual(["a=1/"]);
  });

  const withEntity = page(entry("&e;")).replace("<ListBucketResult", `<!DOCTYPE x [<!ENTITY e "e">]>$&`);
  test.each([
    ["", "the document is malformed"],
    ["<html><body>hello</body></html>", "the document is not a ListBucketResult"],
    [page("<IsTruncated>true</IsTruncated>"), "a truncated page does not name the next one"],
    [page(entry("k").replace("<Size>7", "<Size>-7")), "a size is not an integer"],
    [page(entry("k").replace("2026", "twenty")), "a time is not valid"],
    [withEntity, "the document is malformed"],
    ["<a>".repeat(200_000), "the document is not a ListBucketResult"],
    [page("<a/>".repeat(100_001)), "the document has too many tags"],
    [page("&amp;".repeat(100_001)), "the document is malformed"],
  ])("anything else is rejected: %.40s", (xml, reason) => {
    expect(() => parseListPage(bytes(xml))).toThrow(reason);
  });
});

test("carriage returns are parsed as fast as other characters", () => {
  const many = "\r".repeat(1024 * 1024);
  const { entries } = parseListPage(bytes(page(`${many}<IsTruncated>false</IsTruncated>${entry("a\r\nb")}`)));
  expect(entries).toMatchObject([{ key: "a\nb" }]);
  expect(parseError(bytes(`<Error>${many}<Code>NoSuchKey</Code></Error>`)).code).toBe("NoSuchKey");
});

test("a comment in the elements before it does not hide the code of an error", () => {
  expect(parseError(bytes("<Error><Message>x<!-- y --> z</Message><Code>SlowDown</Code></Error>")).code).toBe(
    "SlowDown",
  );
});

test("the code of an error is a single word or null", () => {
  const code = (text: string): string | null =>
    parseError(bytes(`<Error><Code>${text}</Code><Message>secret</Message></Error>`)).code;
  expect(code("NoSuchKey")).toBe("NoSuchKey");
  expect(code("root:x:0:0")).toBeNull();
  expect(parseError(bytes("<html>")).code).toBeNull();
  expect(parseError(bytes("")).code).toBeNull();
});

test("the id of an upload is parsed and its list of parts is formatted", () => {
  const created = "<InitiateMultipartUploadResult><UploadId>a/b</UploadId></InitiateMultipartUploadResult>";
  expect(parseUploadId(bytes(created))).toBe("a/b");
  expect(formatPartList([{ number: 1, etag: "x", crc32: "AAAAAA==" }])).toContain(
    "<PartNumber>1</PartNumber><ETag>&quot;x&quot;</ETag><ChecksumCRC32>AAAAAA==</ChecksumCRC32></Part></Complete",
  );
});

describe("the result of a copy", () => {
  const time = "<LastModified>2026-01-02T03:04:05.000Z</LastModified>";
  const result = (inner: string, start = ""): Buffer =>
    bytes(
      `${start || '<?xml version="1.0" encoding="UTF-8"?>\n'}<CopyObjectResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${inner}</CopyObjectResult>`,
    );

  test.each([
    ["among checksums", `${time}<ChecksumCRC64NVME>TlZZZITf7tw=</ChecksumCRC64NVME><ETag>&#34;abc&#34;</ETag>`],
    ["in quotes", `${time}<ETag>"abc"</ETag>`],
    ["in quotes that are escaped by name", `<ETag>&quot;abc&quot;</ETag>${time}`],
    ["in quotes that are escaped by number", `${time}<ETag>&#34;abc&#34;</ETag>`],
    ["without quotes", "<ETag>abc</ETag>"],
    ["after a comment", `<!-- <ETag>"x"</ETag> --><ETag>"abc"</ETag>`],
    ["among unknown elements", `<Other>1</Other><ETag>"abc"</ETag>`],
  ])("has the ETag %s", (_where, inner) => {
    expect(parseWriteResult(result(inner), "CopyObjectResult")).toEqual({ etag: "abc", crc32: null });
    expect(parseWriteResult(result(inner, "  \n"), "CopyObjectResult").etag).toBe("abc");
  });

  test("may have a checksum", () => {
    const inner = `<ETag>"abc"</ETag><ChecksumCRC32>AAAAAA==</ChecksumCRC32>`;
    expect(parseWriteResult(result(inner), "CopyObjectResult")).toEqual({ etag: "abc", crc32: "AAAAAA==" });
  });

  test("must be the expected one, and complete", () => {
    expect(() => parseWriteResult(result(`<ETag>"abc"</ETag>`), "CopyPartResult")).toThrow("is not a CopyPartResult");
    expect(() => parseWriteResult(result(time), "CopyObjectResult")).toThrow("has no ETag");
  });
});
