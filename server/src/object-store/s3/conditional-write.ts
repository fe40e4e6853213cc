/**
 * Writes that replace only the expected object. Some stores ignore the condition instead of refusing it, so each service
 * is tried once, with an object that does not exist.
 */
import { randomBytes } from "node:crypto";
import { KeyedSemaphore } from "../../lib/limit-concurrency.ts";
import { descriptions, ObjectStoreError } from "../object-store-error.ts";
import { deleteObject } from "./delete-objects.ts";
import type { S3Client } from "./s3-client.ts";
import { headObject, writeObject } from "./s3-objects.ts";
import type { Written } from "./s3-operations.ts";

type ConditionalWrite = (attempt: (ifMatch: string | undefined) => Promise<Written>) => Promise<Written>;

/** Keyed by object, because some stores check the condition before they write, and not together with it. */
const writing = new KeyedSemaphore<string>(() => 1);

/** How often `*` is tried again after another writer has replaced the object. */
const MAX_ATTEMPTS = 5;
/** No store gives this ETag to an object. */
const IMPOSSIBLE_ETAG = "00000000000000000000000000000000-0";

/** Checks the condition. The result performs the write under it, which may be called again with another ETag. */
export async function conditionalWrite(
  client: S3Client,
  uri: string,
  ifMatch: string | undefined,
  signal: AbortSignal | undefined,
): Promise<ConditionalWrite> {
  const target = `${client.service} ${uri}`;
  if (ifMatch === undefined) return (attempt) => writing.run(target, () => attempt(undefined));
  const currentEtag = async (): Promise<string> => {
    const { etag } = await headObject(client, uri, { signal }).catch((error: unknown) => {
      throw error instanceof ObjectStoreError && error.code !== "NoSuchBucket" && error.kind === "missing"
        ? changed(uri)
        : error;
    });
    if (etag === null || (ifMatch !== "*" && etag !== ifMatch)) throw changed(uri);
    return etag;
  };
  let etag = await currentEtag();
  await requireConditions(client, uri, signal);
  return async (attempt) => {
    for (let tried = 1; ; tried += 1) {
      try {
        return await writing.run(target, () => attempt(etag));
      } catch (error) {
        const isChanged = error instanceof ObjectStoreError && error.kind === "changed";
        if (!isChanged || ifMatch !== "*" || tried >= MAX_ATTEMPTS) throw error;
        etag = await currentEtag();
      }
    }
  };
}

/** Whether the buckets of a service have conditional writes, by service and bucket. */
const known = new Map<string, boolean>();

async function requireConditions(client: S3Client, uri: string, signal: AbortSignal | undefined): Promise<void> {
  const bucket = `${client.service} ${uri.slice(0, uri.indexOf("/", "s3://".length))}`;
  const hasConditions = known.get(bucket) ?? (await tryCondition(client, uri, signal));
  known.set(bucket, hasConditions);
  if (!hasConditions) throw new ObjectStoreError("unconditional", `${uri}: ${descriptions.unconditional}`);
}

async function tryCondition(client: S3Client, uri: string, signal: AbortSignal | undefined): Promise<boolean> {
  const probe = `${uri.slice(0, uri.lastIndexOf("/"))}/.put-${randomBytes(8).toString("hex")}`;
  try {
    await writeObject(client, probe, Buffer.alloc(0), { ifMatch: IMPOSSIBLE_ETAG, signal });
  } catch (error) {
    if (error instanceof ObjectStoreError && error.kind === "changed") return true;
    if (error instanceof ObjectStoreError && error.kind === "unconditional") return false;
    throw error;
  }
  await deleteObject(client, probe, { signal }).catch(() => undefined); // an empty object, which lists do not show
  return false;
}

function changed(uri: string): ObjectStoreError {
  return new ObjectStoreError("changed", `${uri}: ${descriptions.changed}`);
}
