/**
 * Removes and measures what users' programs could write to: by descriptors (`remove-entry.ts`), because the programs may
 * change it at the same time, and in a process of its own, because they may have left a million files.
 */
import { rmdir, unlink } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { HelperProcess } from "../helper-process/helper-process.ts";

export type RemoverRequest = { readonly remove: readonly string[] } | { readonly measure: string };

const MAX_WAIT_MS = 2000;
const remover = new HelperProcess<RemoverRequest, number>(new URL("remover.mjs", import.meta.url));

/**
 * The folder that contains `path`, and its parents, must belong to the server. Does nothing if `path` does not exist.
 * Throws if something could not be removed, for example because a program kept adding files.
 */
export async function removeTree(path: string): Promise<void> {
  if (!(await removeWithoutHelper(path))) await removeTrees([path]);
}

/** Like `removeTree`, in one request. All of them are tried, even if one cannot be removed. */
export async function removeTrees(paths: readonly string[]): Promise<void> {
  await ask({ remove: paths });
}

/** Waits only for a moment: a large removal goes on in the background. If that fails, the next start tries again. */
export async function removeTreeSoon(path: string): Promise<void> {
  const removed = removeTree(path);
  removed.catch(() => undefined); // may fail after this call has returned
  await Promise.race([removed, delay(MAX_WAIT_MS, undefined, { ref: false })]);
}

/** The space that a file or folder takes; 0 if it does not exist or cannot be measured. */
export async function measureTree(path: string): Promise<number> {
  return ask({ measure: path });
}

/** Most folders are empty or do not exist. Neither call follows a link. False: there is more to remove. */
async function removeWithoutHelper(path: string): Promise<boolean> {
  try {
    await rmdir(path);
    return true;
  } catch (error) {
    const code = error instanceof Error && "code" in error ? error.code : undefined;
    if (code === "ENOENT") return true;
    if (code !== "ENOTDIR") return false;
  }
  await unlink(path);
  return true;
}

async function ask(request: RemoverRequest): Promise<number> {
  const answer = (await remover.ask(request)) ?? (await remover.ask(request));
  if (answer === undefined) throw new Error("the process that removes folders ended twice without an answer");
  return answer;
}
