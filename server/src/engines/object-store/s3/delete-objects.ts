import { hash } from "node:crypto";
import { setTimeout as pause } from "node:timers/promises";
import type { CallOptions } from "../object-store.ts";
import { ObjectStoreError } from "../object-store-error.ts";
import { formatObjectUri } from "../object-uri.ts";
import type { S3Client } from "./s3-client.ts";
import { isTransientCode } from "./s3-failure.ts";
import { crc32Text, readDocument } from "./s3-objects.ts";
import type { DeleteFailure } from "./s3-operations.ts";
import { objectOf } from "./s3-uri.ts";
import { canBeDeletedInList, formatDeleteList, parseDeleteFailures } from "./s3-xml.ts";

const maxObjects = 1000;
const attempts = 3;
const pauseMs = 200;

/** Succeeds if the object does not exist. */
export async function deleteObject(client: S3Client, text: string, { signal }: CallOptions = {}): Promise<void> {
  const { uri, subject } = objectOf(text);
  try {
    await client.collect({ method: "DELETE", bucket: uri.bucket, key: uri.key, subject, signal });
  } catch (error) {
    // Some stores report a missing object, which counts as deleted; a missing bucket is always an error.
    const isGone = error instanceof ObjectStoreError && error.kind === "missing" && error.code !== "NoSuchBucket";
    if (!isGone) throw error;
  }
}

export async function deleteObjects(
  client: S3Client,
  uris: readonly string[],
  options: CallOptions = {},
): Promise<readonly DeleteFailure[]> {
  const [first, ...others] = uris.map((text) => objectOf(text).uri);
  if (first === undefined) return [];
  const { bucket } = first;
  if (uris.length > maxObjects || others.some((other) => other.bucket !== bucket)) {
    throw new ObjectStoreError("bad-request", `at most ${maxObjects} objects of one bucket are deleted together`);
  }
  const keys = [first, ...others].map(({ key }) => key);
  const single = keys.filter((key) => !canBeDeletedInList(key));
  for (const key of single) await deleteObject(client, formatObjectUri({ ...first, key }), options);
  let left = keys.filter(canBeDeletedInList);
  const failures: { key: string; code: string }[] = [];
  for (let attempt = 1; left.length > 0; attempt += 1) {
    const failed = (await deleteList(client, bucket, left, options)).filter(({ code }) => code !== "NoSuchKey");
    const again = attempt < attempts ? failed.filter(({ code }) => isTransientCode(code)) : [];
    failures.push(...failed.filter((failure) => !again.includes(failure)));
    left = again.map(({ key }) => key);
    if (left.length > 0) await pause(pauseMs * attempt, undefined, { signal: options.signal });
  }
  return failures.map(({ key, code }) => ({ uri: formatObjectUri({ ...first, key }), code }));
}

async function deleteList(
  client: S3Client,
  bucket: string,
  keys: readonly string[],
  { signal }: CallOptions,
): Promise<{ key: string; code: string }[]> {
  const subject = `s3://${bucket}/`;
  const body = Buffer.from(formatDeleteList(keys));
  // S3 requires a checksum here; older stores know only the MD5.
  const headers = { "content-md5": hash("md5", body, "base64"), "x-amz-checksum-crc32": crc32Text(body) };
  const call = { method: "POST", bucket, key: "", query: { delete: "" }, headers, body, subject, signal } as const;
  return readDocument(await client.collect({ ...call, mayFailLate: true }), subject, parseDeleteFailures);
}
