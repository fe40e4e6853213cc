import { getText } from "../object-store/object-store.ts";
import { NO_S3_KEYS, ObjectStoreError, transientKinds } from "../object-store/object-store-error.ts";
import { type ObjectScheme, parseObjectUri } from "../object-store/object-uri.ts";
import { resolveStorageUri } from "../object-store/storage-uri.ts";
import { Fault, invalid } from "../lib/fault.ts";
import { requireFeature } from "../access/caller.ts";
import type { AccountStorage, OpenStorage } from "../accounts/contract.ts";
import { LONGEST_TEXT_BYTES } from "./submission/body.ts";
import { tooLong, type TextLimit, type Submitter } from "./submission/plan.ts";

const FIELD = "script_location";
const READ_LIMIT_MS = 20_000;

/** Reads a script once, at submission. The command runs this text even if the object changes later. */
export async function readScript(
  storage: AccountStorage,
  submitter: Submitter,
  scriptLocation: string,
  limit: TextLimit,
): Promise<string> {
  const opened = await storage.open(submitter.accountId);
  const signal = AbortSignal.timeout(READ_LIMIT_MS);
  let uri = scriptLocation;
  try {
    uri = resolveStorageUri(scriptLocation, opened.location);
    const scheme = checkScheme(uri, opened);
    const text = await getText(opened.store, uri, limit.bytes, { signal });
    if (scheme === "s3") await opened.noteKeysWork();
    return storable(text);
  } catch (error) {
    if (signal.aborted) throw unreachable("the store does not answer in time", error);
    if (!(error instanceof ObjectStoreError)) throw error;
    const message = error.message.replaceAll(uri, () => scriptLocation);
    if (transientKinds.has(error.kind)) throw unreachable(message, error);
    if (error.kind !== "too-large") throw invalid(FIELD, `cannot be read: ${message}`);
    if (limit.feature !== null) requireFeature(submitter, limit.feature, FIELD);
    throw tooLong(FIELD, limit.feature === null ? limit.bytes : LONGEST_TEXT_BYTES);
  } finally {
    await opened.store.close();
  }
}

function checkScheme(uri: string, { hasKeys, hdfsHttpAddress }: OpenStorage): ObjectScheme {
  const { scheme } = parseObjectUri(uri);
  if (scheme === "s3" && !hasKeys) throw invalid(FIELD, `cannot be read: ${NO_S3_KEYS}`);
  if (scheme === "hdfs" && hdfsHttpAddress === null) {
    throw invalid(FIELD, "cannot be read: a script on HDFS needs the account's hdfs_http_address, which is not set");
  }
  return scheme;
}

function storable(text: string): string {
  if (text.includes("\u0000")) throw invalid(FIELD, "must not contain U+0000");
  return text;
}

function unreachable(why: string, cause: unknown): Fault {
  return new Fault("unavailable", `${FIELD} cannot be read now: ${why}. Try again later.`, {
    cause,
    retryAfterSeconds: 10,
  });
}
