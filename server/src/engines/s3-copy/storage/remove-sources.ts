/**
 * Deletes sources after a copy. No request to delete is repeated without another check: after a failure it is unknown
 * whether the source was deleted, and a new version may have been written since.
 *
 * | A check finds | then |
 * |---|---|
 * | no such file | it counts as deleted: by us, by an earlier attempt or by others |
 * | another version than the copied one | it is kept |
 * | the copied version | it is deleted, unless the store has refused that for good |
 */
import { ObjectStoreError } from "../../../object-store/object-store-error.ts";
import { pauseBeforeRetry } from "../../../object-store/retry-pause.ts";
import type { FoundFile, KeptSource, RemovableFile } from "./storage.ts";

/** How often deletes are tried again. */
export interface RemovalRetries {
  readonly retries: number;
  readonly onRetry: () => void;
}

export interface Removal extends RemovalRetries {
  readonly find: (uri: string) => Promise<FoundFile | undefined>;
  readonly isUnchanged: (source: RemovableFile, found: FoundFile) => boolean;
  /** Sends a request once. Returns the failures; rejects with an `ObjectStoreError` if all have failed. */
  readonly deleteOnce: (sources: readonly RemovableFile[]) => Promise<readonly RemovalFailure[]>;
  readonly signal: AbortSignal;
}

export interface RemovalFailure {
  readonly uri: string;
  readonly code: string;
  readonly isTransient: boolean;
  /** The store may have deleted the source all the same. */
  readonly isUnanswered: boolean;
}

interface FailedTry {
  readonly detail: string;
  readonly isTransient: boolean;
  /** The store may have deleted the source all the same. */
  readonly isUnanswered: boolean;
}

const CHECK_CONCURRENCY = 32;

/** Deletes a few sources together. Returns those that may still exist. */
export async function removeTogether(sources: readonly RemovableFile[], removal: Removal): Promise<KeptSource[]> {
  const { retries, onRetry, signal } = removal;
  const kept: KeptSource[] = [];
  let failed = new Map<string, FailedTry>();
  let left = sources;
  for (let tried = 0; ; tried += 1) {
    const there = await checkAgain(left, removal, kept).catch((error: unknown) => {
      kept.push(...left.map(({ uri }) => uncheckable(uri, failed.get(uri), error)));
      return [];
    });
    const mayTry = ({ uri }: RemovableFile): boolean => tried === 0 || failed.get(uri)?.isTransient === true;
    const again = tried > retries ? [] : there.filter(mayTry);
    for (const source of there) {
      if (!again.includes(source)) kept.push(refused(source.uri, failed.get(source.uri)?.detail ?? ""));
    }
    if (again.length === 0) return kept;
    if (tried > 0) onRetry();
    failed = await tryOnce(again, removal);
    left = again.filter(({ uri }) => failed.has(uri));
    if (left.length === 0) return kept;
    if ([...failed.values()].some(({ isTransient }) => isTransient)) await pauseBeforeRetry(tried, signal);
    signal.throwIfAborted();
  }
}

/** The sources that are unchanged. Adds the others to `kept`, unless they are gone. */
async function checkAgain(
  sources: readonly RemovableFile[],
  { find, isUnchanged }: Removal,
  kept: KeptSource[],
): Promise<RemovableFile[]> {
  const there: RemovableFile[] = [];
  const changed: KeptSource[] = [];
  for (let from = 0; from < sources.length; from += CHECK_CONCURRENCY) {
    const checks = sources.slice(from, from + CHECK_CONCURRENCY).map(async (source) => {
      const found = await find(source.uri);
      if (found === undefined) return;
      if (isUnchanged(source, found)) there.push(source);
      else changed.push({ uri: source.uri, why: "changed", detail: "" });
    });
    await Promise.all(checks);
  }
  kept.push(...changed);
  return there;
}

async function tryOnce(sources: readonly RemovableFile[], { deleteOnce }: Removal): Promise<Map<string, FailedTry>> {
  try {
    const failures = await deleteOnce(sources);
    return new Map(
      failures.map(({ uri, code, isTransient, isUnanswered }) => [uri, { detail: code, isTransient, isUnanswered }]),
    );
  } catch (error) {
    if (!(error instanceof ObjectStoreError)) throw error;
    const isTransient = error.kind === "unreachable" || error.kind === "bad-response";
    const failure = { detail: error.message, isTransient, isUnanswered: isTransient };
    return new Map(sources.map(({ uri }) => [uri, failure]));
  }
}

function refused(uri: string, detail: string): KeptSource {
  return { uri, why: "refused", detail };
}

/** The store cannot say whether the source exists. */
function uncheckable(uri: string, failure: FailedTry | undefined, error: unknown): KeptSource {
  if (!(error instanceof ObjectStoreError)) throw error;
  const detail = error.message;
  return failure?.isUnanswered === true ? { uri, why: "unknown", detail } : refused(uri, detail);
}
