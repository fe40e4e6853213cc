import { ObjectStoreError } from "../../../object-store/object-store-error.ts";
import { parseObjectUri } from "../../../object-store/object-uri.ts";
import { isTransientError } from "../../../object-store/s3/s3-failure.ts";
import type { ObjectVersion, S3Store } from "../../../object-store/s3/s3-operations.ts";
import { removeTogether, type Removal, type RemovalFailure } from "./remove-sources.ts";
import type { FoundFile, KeptSource, RemovableFile } from "./storage.ts";

/** Few, because stores without conditional deletes lose an object that changes between its check and its deletion. */
const DELETE_BATCH = 96;

/** Codes of stores that do not know the condition of a delete. */
const UNKNOWN_CONDITION: ReadonlySet<string> = new Set(["MalformedXML", "NotImplemented"]);
/** The same, unless the refusal may concern one object. */
const INVALID: ReadonlySet<string> = new Set(["InvalidArgument", "InvalidRequest"]);

export interface ObjectRemoval extends Omit<Removal, "deleteOnce" | "isUnchanged"> {
  readonly store: Pick<S3Store, "deleteObjects">;
}

/** Deletes objects, of any buckets, that have not changed since they were copied. */
export async function removeObjects(
  sources: readonly RemovableFile[],
  { store, ...removal }: ObjectRemoval,
): Promise<KeptSource[]> {
  const deleteOnce = conditionalDelete(store, removal.signal);
  const kept: KeptSource[] = [];
  for (const ofBucket of Map.groupBy(sources, ({ uri }) => parseObjectUri(uri).bucket).values()) {
    for (let from = 0; from < ofBucket.length; from += DELETE_BATCH) {
      const batch = ofBucket.slice(from, from + DELETE_BATCH);
      kept.push(...(await removeTogether(batch, { ...removal, deleteOnce, isUnchanged: isSameObject })));
    }
  }
  return kept;
}

/**
 * Deletes objects only with the ETag of the copied version. If the store refuses all objects of a request with a code
 * that says that it does not know this, it is tried without. An object that is refused alone concerns only itself.
 */
function conditionalDelete(store: Pick<S3Store, "deleteObjects">, signal: AbortSignal): Removal["deleteOnce"] {
  let isConditional = true;
  return async (sources) => {
    const wasConditional = isConditional;
    const objects = sources.map(({ uri, etag }) => ({ uri, etag: wasConditional ? etag : null }));
    let isOfAll = objects.length > 1;
    const failures = await store.deleteObjects(objects, { signal }).catch((error: unknown) => {
      isOfAll = true;
      return refusalOfAll(objects, error);
    });
    const isRefusal = ({ code }: RemovalFailure): boolean =>
      UNKNOWN_CONDITION.has(code) || (isOfAll && INVALID.has(code));
    if (!wasConditional || failures.length < objects.length || !failures.every(isRefusal)) return failures;
    isConditional = false;
    return failures.map((failure) => ({ ...failure, isTransient: true }));
  };
}

/** The store has answered that it does not accept the request. */
function refusalOfAll(objects: readonly ObjectVersion[], error: unknown): readonly RemovalFailure[] {
  if (!(error instanceof ObjectStoreError) || error.kind !== "bad-request") throw error;
  const { code = "NotImplemented" } = error;
  return objects.map(({ uri }) => ({ uri, code, isTransient: isTransientError(error), isUnanswered: false }));
}

/** An object without an ETag is recognized by its time, which some answers give in whole seconds. */
function isSameObject(source: RemovableFile, found: FoundFile): boolean {
  if (found.size !== source.size) return false;
  if (source.etag === null) return Math.abs(found.modifiedMs - source.modifiedMs) < 1000;
  return found.etag === source.etag;
}
