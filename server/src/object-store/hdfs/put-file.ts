import { ObjectStoreError } from "../object-store-error.ts";
import type { ObjectBody, PutOptions, StoredPut } from "../object-store.ts";
import { findFile, type FileCall } from "./find-file.ts";
import { BodySource } from "./send-body.ts";
import { isDone, parsed } from "./webhdfs-answers.ts";
import type { WebHdfsClient } from "./webhdfs-client.ts";

/** Less than the ten seconds between SIGTERM and the kill of a copy. */
const REMOVE_MS = 8_000;

/** Each takes a request before the upload. */
const MAX_NEW_FOLDERS = 64;

/**
 * Writes a temporary file in the same folder, which listings omit, then renames it. Each attempt replaces the temporary
 * file of the previous one.
 */
export async function putFile(
  client: WebHdfsClient,
  file: FileCall,
  given: ObjectBody,
  temporary: string,
  { ifMatch, onUnfinished }: PutOptions,
): Promise<StoredPut> {
  const { subject, signal } = file;
  if (ifMatch !== undefined) {
    throw new ObjectStoreError("unconditional", `${subject}: HDFS has no conditional writes`);
  }
  const source = new BodySource(given);
  const call = { path: temporary, subject };
  let newFolders: readonly string[] = [];
  try {
    const creation = { ...call, signal, method: "PUT", operation: "CREATE", query: { overwrite: "true" } } as const;
    newFolders = onUnfinished === undefined ? [] : await missingFolders(client, file);
    await onUnfinished?.({ uri: subject, id: temporary.slice(temporary.lastIndexOf("/") + 1) });
    await client.create(creation, source.body);
    await renameFile(client, file, temporary, source.bytes);
    return { size: source.bytes, etag: null, modifiedAt: null };
  } catch (error) {
    const removal = { ...call, method: "DELETE", operation: "DELETE", signal: AbortSignal.timeout(REMOVE_MS) } as const;
    const removed = client.document(removal).then(async () => {
      // HDFS refuses to delete folders that have got other files meanwhile.
      for (const path of newFolders) await client.document({ ...removal, path, query: { recursive: "false" } });
    });
    await removed.catch(() => undefined);
    signal?.throwIfAborted();
    source.throwIfFailed();
    throw error;
  } finally {
    source.end();
  }
}

/** The folders that HDFS creates with the file, the innermost first. */
async function missingFolders(client: WebHdfsClient, file: FileCall): Promise<string[]> {
  const missing: string[] = [];
  for (let path = parentOf(file.path); path !== ""; path = parentOf(path)) {
    if (missing.length === MAX_NEW_FOLDERS) break;
    if ((await findFile(client, { ...file, path })) !== undefined) break;
    missing.push(path);
  }
  return missing;
}

function parentOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/"));
}

/** After a lost answer, only the two paths show whether the file was renamed: a repeated call finds no temporary file. */
async function renameFile(client: WebHdfsClient, file: FileCall, temporary: string, bytes: number): Promise<void> {
  const { path, subject, signal } = file;
  const call = { path: temporary, subject, signal };
  let isUnknown = false;
  const isRenamed = async (): Promise<boolean> => {
    if (!isUnknown || (await findFile(client, call)) !== undefined) return false;
    const found = await findFile(client, file);
    return found?.kind === "file" && found.size === bytes;
  };
  try {
    const query = { destination: path, renameoptions: "OVERWRITE" };
    const onUnknownOutcome = (): void => void (isUnknown = true);
    const renamed = await client.document({ ...call, method: "PUT", operation: "RENAME", query, onUnknownOutcome });
    if (!parsed(file, () => isDone(renamed))) {
      throw new ObjectStoreError("bad-request", `${subject}: HDFS does not allow a file at this path`);
    }
  } catch (error) {
    signal?.throwIfAborted();
    if (!(await isRenamed())) throw error;
  }
}
