/**
 * Signs requests to S3 with AWS Signature Version 4. The signing key is derived from the secret, the day and the region by
 * four hashes, so it is cached until the day changes.
 */
import { createHmac, createSecretKey, hash, type KeyObject } from "node:crypto";

export interface S3Credentials {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken?: string | undefined;
}

export interface UnsignedRequest {
  readonly method: string;
  /** Percent-encoded, as it is sent. */
  readonly path: string;
  /** Percent-encoded and sorted, as it is sent, without the question mark. */
  readonly query: string;
  /** Names in lower case; `host` among them. */
  readonly headers: Readonly<Record<string, string>>;
  /** SHA-256 of the body in hexadecimal, or `UNSIGNED-PAYLOAD`. */
  readonly payloadHash: string;
}

export type SignRequest = (request: UnsignedRequest, region: string, now: Date) => Record<string, string>;

export const EMPTY_PAYLOAD_HASH = hash("sha256", "");
export const UNSIGNED_PAYLOAD = "UNSIGNED-PAYLOAD";

/** S3 does not require these to be signed. Their values may be UTF-8, which servers and proxies read in different ways. */
const unsignedHeaders: ReadonlySet<string> = new Set([
  "cache-control",
  "content-disposition",
  "content-encoding",
  "content-language",
]);

/** Returns the headers of the request with those of the signature. */
export function requestSigner({ accessKeyId, secretAccessKey, sessionToken }: S3Credentials): SignRequest {
  const keyOf = signingKeys(secretAccessKey);
  const timeOf = timeTexts();
  return (request, region, now) => {
    const time = timeOf(now);
    const day = time.slice(0, 8);
    const headers: Record<string, string> = {
      ...request.headers,
      "x-amz-content-sha256": request.payloadHash,
      "x-amz-date": time,
    };
    if (sessionToken !== undefined) headers["x-amz-security-token"] = sessionToken;
    const signedNames = Object.keys(headers)
      .filter((name) => !unsignedHeaders.has(name))
      .toSorted();
    let canonicalHeaders = "";
    for (const name of signedNames) canonicalHeaders += `${name}:${canonicalValue(headers[name] ?? "")}\n`;
    const names = signedNames.join(";");
    const canonical = `${request.method}\n${request.path}\n${request.query}\n${canonicalHeaders}\n${names}\n${request.payloadHash}`;
    const scope = `${day}/${region}/s3/aws4_request`;
    const toSign = `AWS4-HMAC-SHA256\n${time}\n${scope}\n${hash("sha256", canonical)}`;
    const signature = createHmac("sha256", keyOf(day, region)).update(toSign).digest("hex");
    headers["authorization"] =
      `AWS4-HMAC-SHA256 Credential=${accessKeyId}/${scope}, SignedHeaders=${names}, Signature=${signature}`;
    return headers;
  };
}

function signingKeys(secret: string): (day: string, region: string) => KeyObject {
  const ofRegion = new Map<string, KeyObject>();
  let currentDay = "";
  return (day, region) => {
    if (day !== currentDay) ofRegion.clear(); // yesterday's keys are never used again
    currentDay = day;
    const known = ofRegion.get(region);
    if (known !== undefined) return known;
    const bytes = [day, region, "s3", "aws4_request"].reduce<Buffer>(
      (parent, text) => createHmac("sha256", parent).update(text).digest(),
      Buffer.from(`AWS4${secret}`),
    );
    const key = createSecretKey(bytes); // Node would make one for each signature, which costs more than the signature
    ofRegion.set(region, key);
    return key;
  };
}

/** `20130524T000000Z`. Thousands of requests share a second. */
function timeTexts(): (now: Date) => string {
  let second = NaN;
  let text = "";
  return (now) => {
    const current = Math.floor(now.getTime() / 1000);
    if (current !== second) {
      text = now.toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
      second = current;
    }
    return text;
  };
}

/** Servers see the value without outer spaces and may see several inner spaces as one. */
function canonicalValue(value: string): string {
  return value.trim().replaceAll(/ {2,}/g, " ");
}
