import { hash } from "node:crypto";
import type { CallOptions } from "../object-store.ts";
import { ObjectStoreError, unreadable } from "../object-store-error.ts";
import { formatObjectUri } from "../object-uri.ts";
import type { S3Call, S3Client } from "./s3-client.ts";
import { isTransientCode, isTransientError } from "./s3-failure.ts";
import { quotedEtag } from "./s3-headers.ts";
import { crc32Text, readDocument } from "./s3-objects.ts";
import type { DeleteFailure, ObjectVersion } from "./s3-operations.ts";
import { objectOf } from "./s3-uri.ts";
import { canBeDeletedInList, formatDeleteList, parseDeleteFailures } from "./s3-xml.ts";

const maxObjects = 1000;

/** Succeeds if the object does not exist. */
export async function deleteObject(
  client: S3Client,
  text: string,
  options: CallOptions & Pick<S3Call, "headers" | "isSentOnce"> = {},
): Promise<void> {
  const { uri, subject } = objectOf(text);
  try {
    await client.collect({ method: "DELETE", bucket: uri.bucket, key: uri.key, subject, ...options });
  } catch (error) {
    // Some stores report a missing object, which counts as deleted; a missing bucket is always an error.
    const isGone = error instanceof ObjectStoreError && error.kind === "missing" && error.code !== "NoSuchBucket";
    if (!isGone) throw error;
  }
}

export async function deleteObjects(
  client: S3Client,
  objects: readonly ObjectVersion[],
  options: CallOptions = {},
): Promise<readonly DeleteFailure[]> {
  const found = objects.map(({ uri: text, etag }) => ({ text, etag, uri: objectOf(text).uri }));
  const [first] = found;
  if (first === undefined) return [];
  const { bucket } = first.uri;
  if (objects.length > maxObjects || found.some(({ uri }) => uri.bucket !== bucket)) {
    throw new ObjectStoreError("bad-request", `at most ${maxObjects} objects of one bucket are deleted together`);
  }
  const failures: DeleteFailure[] = [];
  const listed: { key: string; etag: string | null }[] = [];
  for (const { text, etag, uri } of found) {
    if (canBeDeletedInList(uri.key)) listed.push({ key: uri.key, etag });
    else failures.push(...(await deleteAlone(client, { uri: text, etag }, options)));
  }
  if (listed.length === 0) return failures;
  const keys = new Set(listed.map(({ key }) => key));
  for (const { key, code } of await deleteList(client, bucket, listed, options)) {
    if (!keys.has(key)) throw unreadable(`s3://${bucket}/`, new Error("the answer names a key that was not requested"));
    if (code === "NoSuchKey") continue;
    const uri = formatObjectUri({ ...first.uri, key });
    failures.push({ uri, code, isTransient: isTransientCode(code), isUnanswered: false });
  }
  return failures;
}

async function deleteAlone(
  client: S3Client,
  { uri, etag }: ObjectVersion,
  options: CallOptions,
): Promise<readonly DeleteFailure[]> {
  try {
    const headers = etag === null ? {} : { "if-match": quotedEtag(etag) };
    await deleteObject(client, uri, { ...options, headers, isSentOnce: true });
    return [];
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    const isUnanswered = error.kind === "unreachable" || error.kind === "bad-response";
    return [
      { uri, code: error.code ?? error.kind, isTransient: isUnanswered || isTransientError(error), isUnanswered },
    ];
  }
}

async function deleteList(
  client: S3Client,
  bucket: string,
  objects: readonly { readonly key: string; readonly etag: string | null }[],
  { signal }: CallOptions,
): Promise<{ key: string; code: string }[]> {
  const subject = `s3://${bucket}/`;
  const body = Buffer.from(formatDeleteList(objects));
  // S3 requires a checksum here; older stores know only the MD5.
  const headers = { "content-md5": hash("md5", body, "base64"), "x-amz-checksum-crc32": crc32Text(body) };
  const call = { method: "POST", bucket, key: "", query: { delete: "" }, headers, body, subject, signal } as const;
  const answer = await client.collect({ ...call, mayFailLate: true, isSentOnce: true });
  return readDocument(answer, subject, parseDeleteFailures);
}
