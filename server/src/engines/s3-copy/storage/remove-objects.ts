import { parseObjectUri } from "../../object-store/object-uri.ts";
import type { S3Store } from "../../object-store/s3/s3-operations.ts";
import { CopyError } from "../copy-error.ts";
import { changedSource } from "./file-storage.ts";
import type { RemovableFile, Storage } from "./storage.ts";

/** Few, because an object that changes between its check and its deletion is lost. */
const DELETES_AT_ONCE = 96;
const HEADS_AT_ONCE = 32;

/** Deletes objects, of any buckets, that have not changed since they were copied. */
export async function removeObjects(
  sources: readonly RemovableFile[],
  store: Pick<S3Store, "deleteObjects">,
  find: Storage["find"],
  signal: AbortSignal,
): Promise<void> {
  for (const ofBucket of Map.groupBy(sources, ({ uri }) => parseObjectUri(uri).bucket).values()) {
    for (let from = 0; from < ofBucket.length; from += DELETES_AT_ONCE) {
      const there = await stillUnchanged(ofBucket.slice(from, from + DELETES_AT_ONCE), find);
      const failures = await store.deleteObjects(there, { signal });
      const [first] = failures;
      if (first === undefined) continue;
      const others = failures.length === 1 ? "" : ` and ${failures.length - 1} more`;
      throw new CopyError(`${first.uri}${others}: the source could not be deleted (${first.code})`);
    }
  }
}

async function stillUnchanged(sources: readonly RemovableFile[], find: Storage["find"]): Promise<string[]> {
  const there: string[] = [];
  for (let from = 0; from < sources.length; from += HEADS_AT_ONCE) {
    const checks = sources.slice(from, from + HEADS_AT_ONCE).map(async (source) => {
      const found = await find(source.uri);
      if (found === undefined) return; // an earlier attempt has deleted it
      if (found.size !== source.size || found.etag !== source.etag) throw changedSource(source.uri);
      there.push(source.uri);
    });
    await Promise.all(checks);
  }
  return there;
}
