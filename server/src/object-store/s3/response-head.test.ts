import { describe, expect, test } from "vitest";
import { parseResponseHead } from "./response-head.ts";

const head = (...lines: string[]): string => lines.join("\r\n");

describe("the head of a response", () => {
  test("has a status, headers with names in lower case, and a length", () => {
    const text = head("HTTP/1.1 206 Partial Content", 'ETag: "a:b"', "Content-Length:  12 ", "x-amz-meta-a:");
    expect(parseResponseHead(text)).toEqual({
      status: 206,
      headers: { etag: '"a:b"', "content-length": "12", "x-amz-meta-a": "" },
      length: 12,
      isChunked: false,
      isKeptAlive: true,
    });
  });

  test("may lack a reason phrase and headers", () => {
    expect(parseResponseHead("HTTP/1.1 200")).toMatchObject({ status: 200, length: null });
    expect(parseResponseHead("HTTP/1.1 200 ")).toMatchObject({ status: 200, headers: {} });
  });

  test("joins repeated headers, but not lengths", () => {
    const text = head("HTTP/1.1 200 OK", "a: 1", "A: 2", "Content-Length: 5", "content-length: 5", "constructor: x");
    const { headers, length } = parseResponseHead(text);
    expect([headers["a"], headers["constructor"], length]).toEqual(["1, 2", "x", 5]);
  });

  test("has values without outer blanks, but with all their other bytes", () => {
    const { headers } = parseResponseHead(head("HTTP/1.1 200 OK", "a: \t\xc3\xa0 b\xc3\xa0\t ", "b: \t "));
    expect(headers).toEqual({ a: "\xc3\xa0 b\xc3\xa0", b: "" });
  });

  test("has no usable length if the body comes in chunks, whatever length it announces", () => {
    const text = head("HTTP/1.1 200 OK", "Content-Length: 5", "Transfer-Encoding: chunked");
    expect(parseResponseHead(text).length).toBeNull();
  });

  test.each([
    ["HTTP/1.1 200 OK", "Connection: keep-alive", true],
    ["HTTP/1.1 200 OK", "Connection: close", false],
    ["HTTP/1.1 200 OK", "connection: x, Close", false],
    ["HTTP/1.0 200 OK", "Connection: keep-alive", false],
  ])("%s with %s keeps the connection: %s", (status, connection, isKeptAlive) => {
    expect(parseResponseHead(head(status, connection)).isKeptAlive).toBe(isKeptAlive);
  });

  test.each([
    ["another protocol", "HTTP/2 200 OK"],
    ["no protocol", "220 smtp.example.com"],
    ["nothing", ""],
    ["a status that is no number", "HTTP/1.1 2x0 OK"],
    ["a line without a colon", head("HTTP/1.1 200 OK", "nothing")],
    ["a header without a name", head("HTTP/1.1 200 OK", ": 1")],
    ["a blank before the colon", head("HTTP/1.1 200 OK", "Content-Length : 1")],
    ["a folded header", head("HTTP/1.1 200 OK", "a: 1", " b: 2")],
    ["two lengths", head("HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 2")],
    ["a list of lengths", head("HTTP/1.1 200 OK", "Content-Length: 1, 1")],
    ["a negative length", head("HTTP/1.1 200 OK", "Content-Length: -1")],
    ["an empty length", head("HTTP/1.1 200 OK", "Content-Length:")],
    ["a huge length", head("HTTP/1.1 200 OK", "Content-Length: 9999999999999999")],
  ])("with %s is refused", (_what, text) => {
    expect(() => parseResponseHead(text)).toThrow(expect.objectContaining({ kind: "bad-response" }));
  });
});
