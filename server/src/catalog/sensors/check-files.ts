import type { ObjectStore } from "../../object-store/object-store.ts";
import { NO_S3_KEYS, ObjectStoreError, transientKinds } from "../../object-store/object-store-error.ts";
import { formatObjectUri, parseObjectUri, type ObjectUri } from "../../object-store/object-uri.ts";
import { resolveStorageUri } from "../../object-store/storage-uri.ts";
import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import { Fault, invalid } from "../../lib/fault.ts";
import type { AccountStorage, OpenStorage } from "../../accounts/contract.ts";
import type { FileQuestion, SensorFile } from "./file-question.ts";

const CHECK_TIMEOUT_MS = 20_000;
const CALL_CONCURRENCY = 8;

/** In the order of the questions: the answer, or why it cannot be given. */
export async function checkFiles(
  storage: Pick<AccountStorage, "open">,
  accountId: number,
  questions: readonly FileQuestion[],
): Promise<(boolean | Fault)[]> {
  const opened = await storage.open(accountId);
  const signal = AbortSignal.timeout(CHECK_TIMEOUT_MS);
  const inTurn = limitConcurrency(CALL_CONCURRENCY);
  const check = (file: SensorFile): Promise<boolean | Fault> => inTurn(() => checkFile(opened, file, signal));
  try {
    return await Promise.all(questions.map((question) => checkAll(question, check)));
  } finally {
    await opened.store.close();
  }
}

/** Stops at the first file that is missing or cannot be checked. */
async function checkAll(
  question: FileQuestion,
  check: (file: SensorFile) => Promise<boolean | Fault>,
): Promise<boolean | Fault> {
  const { files, startAt } = question;
  const inOrder = [...files.slice(startAt), ...files.slice(0, startAt)];
  for (let from = 0, some = 1; from < inOrder.length; from += some, some = CALL_CONCURRENCY) {
    const batch = inOrder.slice(from, from + some);
    const answers = await Promise.all(batch.map(check));
    const fault = answers.find((answer) => answer instanceof Fault);
    if (fault !== undefined) return fault;
    const missing = batch[answers.indexOf(false)];
    if (missing === undefined) continue;
    question.startAt = files.indexOf(missing);
    return false;
  }
  return true;
}

async function checkFile(
  { store, location, hasKeys, hdfsHttpAddress }: OpenStorage,
  { field, text }: SensorFile,
  signal: AbortSignal,
): Promise<boolean | Fault> {
  try {
    const address = resolveStorageUri(text, location);
    const uri = parseObjectUri(address);
    if (uri.scheme === "s3" && !hasKeys) return invalid(field, `cannot be checked: ${NO_S3_KEYS}`);
    if (uri.scheme === "hdfs" && hdfsHttpAddress === null) {
      return invalid(field, "cannot be checked on HDFS: set the account's hdfs_http_address");
    }
    const folder = /(^|\/)$/.test(uri.key) ? uri : { ...uri, key: `${uri.key}/` };
    if (folder !== uri && (await isFile(store, address, signal))) return true;
    return await hasSomeBelow(store, folder, signal);
  } catch (error) {
    if (signal.aborted) return unreachable(field, "the store did not answer in time", error);
    if (!(error instanceof ObjectStoreError)) throw error;
    if (transientKinds.has(error.kind)) return unreachable(field, error.message, error);
    return invalid(field, `cannot be checked: ${error.message}`);
  }
}

/** On S3 the folder itself may be an object: without others it is an empty folder. */
async function hasSomeBelow(store: ObjectStore, parsed: ObjectUri, signal: AbortSignal): Promise<boolean> {
  const folder = formatObjectUri(parsed);
  try {
    if (parsed.scheme === "s3") {
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

/** False also for a URI that cannot name a file: it may name a folder. */
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
  return new Fault("unavailable", `${field} cannot be checked now: ${why}. Try again later.`, {
    cause,
    retryAfterSeconds: 10,
  });
}
