import type { ObjectStore } from "../../engines/object-store/object-store.ts";
import { ObjectStoreError, passingKinds } from "../../engines/object-store/object-store-error.ts";
import { formatObjectUri, type ObjectUri } from "../../engines/object-store/object-uri.ts";
import { atOnce } from "../../lib/at-once.ts";
import { Fault, invalid } from "../../lib/fault.ts";
import type { AccountStorage, OpenStorage } from "../../accounts/contract.ts";
import type { AskedFile, FileQuestion } from "./file-question.ts";

const LOOK_LIMIT_MS = 20_000;
const CALLS_AT_ONCE = 8;

/** In the order of the questions: the answer, or why there can be none. */
export async function lookForFiles(
  storage: AccountStorage,
  accountId: number,
  questions: readonly FileQuestion[],
): Promise<(boolean | Fault)[]> {
  const opened = await storage.open(accountId);
  const signal = AbortSignal.timeout(LOOK_LIMIT_MS);
  const inTurn = atOnce(CALLS_AT_ONCE);
  const look = (file: AskedFile): Promise<boolean | Fault> => inTurn(() => lookForFile(opened, file, signal));
  try {
    return await Promise.all(questions.map((question) => lookForAll(question, look)));
  } finally {
    await opened.store.close();
  }
}

/** The first that is not there, or cannot be, settles it: the rest is not asked for any more. */
async function lookForAll(
  question: FileQuestion,
  look: (file: AskedFile) => Promise<boolean | Fault>,
): Promise<boolean | Fault> {
  const { files, startAt } = question;
  const inOrder = [...files.slice(startAt), ...files.slice(0, startAt)];
  for (let from = 0, some = 1; from < inOrder.length; from += some, some = CALLS_AT_ONCE) {
    const asked = inOrder.slice(from, from + some);
    const answers = await Promise.all(asked.map(look));
    const fault = answers.find((answer) => answer instanceof Fault);
    if (fault !== undefined) return fault;
    const missing = asked[answers.indexOf(false)];
    if (missing === undefined) continue;
    question.startAt = files.indexOf(missing);
    return false;
  }
  return true;
}

async function lookForFile(
  { store, hasKeys, hdfsHttpAddress }: OpenStorage,
  { field, text, uri }: AskedFile,
  signal: AbortSignal,
): Promise<boolean | Fault> {
  if (uri.scheme === "s3" && !hasKeys) return invalid(field, "cannot be looked for: the account has no storage keys");
  if (uri.scheme === "hdfs" && hdfsHttpAddress === null) {
    return invalid(field, "on hdfs needs the account's hdfs_http_address, which is not set");
  }
  try {
    const folder = /(^|\/)$/.test(uri.key) ? uri : { ...uri, key: `${uri.key}/` };
    if (folder !== uri && (await isFile(store, text, signal))) return true;
    return await hasSomeBelow(store, folder, signal);
  } catch (error) {
    if (signal.aborted) return unreachable(field, "the store does not answer in time", error);
    if (!(error instanceof ObjectStoreError)) throw error;
    if (passingKinds.has(error.kind)) return unreachable(field, error.message, error);
    return invalid(field, `cannot be looked for: ${error.message}`);
  }
}

/** Of S3 the folder itself may be an object; that alone is an empty one. */
async function hasSomeBelow(store: ObjectStore, place: ObjectUri, signal: AbortSignal): Promise<boolean> {
  const folder = formatObjectUri(place);
  try {
    if (place.scheme === "s3") {
      for await (const { uri } of store.list(folder, { maxKeys: 2, signal })) if (uri !== folder) return true;
      return false;
    }
    for await (const { kind } of store.folder(folder, { signal })) if (kind !== "link") return true;
    return false;
  } catch (error) {
    if (error instanceof ObjectStoreError && error.kind === "missing") return false;
    throw error;
  }
}

/** What is no name of a file may be one of a folder. */
async function isFile(store: ObjectStore, uri: string, signal: AbortSignal): Promise<boolean> {
  try {
    await store.stat(uri, { signal });
    return true;
  } catch (error) {
    if (error instanceof ObjectStoreError && (error.kind === "missing" || error.kind === "bad-uri")) return false;
    throw error;
  }
}

function unreachable(field: string, why: string, cause: unknown): Fault {
  return new Fault("unavailable", `${field} cannot be looked for now: ${why}. Try again later.`, {
    cause,
    retryAfterSeconds: 10,
  });
}
