/** The examples in AWS's documentation of S3 ("Authenticating Requests: Using the Authorization Header"). */
import { expect, test } from "vitest";
import { EMPTY_PAYLOAD_HASH, requestSigner } from "./sign-request.ts";

const credentials = {
  accessKeyId: "AKIAIOSFODNN7EXAMPLE",
  secretAccessKey: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
};
const host = "examplebucket.s3.amazonaws.com";
const now = new Date("2013-05-24T00:00:00Z");
const get = { method: "GET", path: "/", query: "", headers: { host }, payloadHash: EMPTY_PAYLOAD_HASH };

test.each([
  [
    "a range of an object",
    { ...get, path: "/test.txt", headers: { host, range: "bytes=0-9" } },
    "host;range;x-amz-content-sha256;x-amz-date",
    "f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
  ],
  [
    "a new object",
    {
      method: "PUT",
      path: "/test%24file.text",
      query: "",
      headers: { host, date: "Fri, 24 May 2013 00:00:00 GMT", "x-amz-storage-class": "REDUCED_REDUNDANCY" },
      payloadHash: "44ce7dd67c959e0d3524ffac1771dfbba87d2b6b4b4e99e42034a8b803f8b072",
    },
    "date;host;x-amz-content-sha256;x-amz-date;x-amz-storage-class",
    "98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd",
  ],
  [
    "a query without value",
    { ...get, query: "lifecycle=" },
    "host;x-amz-content-sha256;x-amz-date",
    "fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543",
  ],
  [
    "a listing",
    { ...get, query: "max-keys=2&prefix=J" },
    "host;x-amz-content-sha256;x-amz-date",
    "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7",
  ],
])("%s is signed as in the documentation of S3", (_, request, names, signature) => {
  expect(requestSigner(credentials)(request, "us-east-1", now)).toMatchObject({
    "x-amz-date": "20130524T000000Z",
    authorization: `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=${names}, Signature=${signature}`,
  });
});

test("a new day and another region have signatures of their own, whatever was signed before", () => {
  const sign = requestSigner(credentials);
  const tomorrow = new Date("2013-05-25T00:00:00Z");
  const signatures = [
    sign(get, "us-east-1", now),
    sign(get, "eu-west-1", now),
    sign(get, "us-east-1", tomorrow),
    sign(get, "us-east-1", now),
  ].map(({ authorization }) => authorization);
  expect(new Set(signatures).size).toBe(3);
  expect(signatures[2]).toBe(requestSigner(credentials)(get, "us-east-1", tomorrow)["authorization"]);
  expect(signatures[3]).toBe(signatures[0]);
});

test("the token of a session is sent and signed", () => {
  const headers = requestSigner({ ...credentials, sessionToken: "token" })(get, "us-east-1", now);
  expect(headers["x-amz-security-token"]).toBe("token");
  expect(headers["authorization"]).toContain("x-amz-date;x-amz-security-token,");
});

test("attributes that may be UTF-8 are not signed, and repeated spaces in others count as one", () => {
  const sign = requestSigner(credentials);
  const withText = (headers: Record<string, string>): string | undefined =>
    sign({ ...get, headers: { host, ...headers } }, "us-east-1", now)["authorization"];
  expect(withText({ "content-disposition": "Ã¼" })).toBe(withText({}));
  expect(withText({ "x-amz-meta-a": " a   b " })).toBe(withText({ "x-amz-meta-a": "a b" }));
});
