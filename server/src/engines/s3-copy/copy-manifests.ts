import { limitConcurrency } from "../../lib/limit-concurrency.ts";
import { CopyError } from "./copy-error.ts";
import { outputUri } from "./destination.ts";
import type { FinishedOutputs } from "./finished-outputs.ts";
import { checkAlias, checkOutside, isBelow } from "./list-sources.ts";
import type { ManifestEntry } from "./manifest/manifest-entry.ts";
import { ManifestWriter } from "./manifest/manifest-writer.ts";
import { readManifest } from "./manifest/read-manifest.ts";
import type { CopyOptions } from "./options/copy-options.ts";
import type { SourceFile } from "./plan/planned-output.ts";
import type { Storage } from "./storage/storage.ts";
import type { Storages } from "./storage/storages.ts";
import { readAhead, type ReadOptions } from "./transfer/output-contents.ts";

/** The entries of `previousManifest`. Undefined: the option is not given, or the file is missing and not required. */
export async function openPreviousManifest(
  { previousManifest, requirePreviousManifest }: CopyOptions,
  storages: Storages,
  options: ReadOptions,
): Promise<AsyncIterable<ManifestEntry> | undefined> {
  if (previousManifest === null) return undefined;
  const storage = storages.at(previousManifest);
  const found = await storage.find(previousManifest);
  if (found === undefined) {
    if (!requirePreviousManifest) return undefined;
    throw new CopyError(`${previousManifest}: the previous manifest does not exist`);
  }
  const source = { ...found, uri: previousManifest, name: "manifest" };
  return readManifest(readAhead(source, storage, options));
}

/**
 * Asks the store about the files of a manifest: whether they exist and may be read, and their versions. Then each can be
 * copied, verified and deleted like a listed file.
 */
export async function* findSources(
  pages: AsyncIterable<readonly SourceFile[]>,
  options: CopyOptions,
  { storages, slots }: { storages: Storages; slots: number },
): AsyncGenerator<readonly SourceFile[]> {
  const inSlot = limitConcurrency(slots);
  let isChecked = false;
  for await (const page of pages) {
    for (const { uri } of page) {
      storages.ofSource(uri);
      checkOutside(uri, options, storages);
    }
    const found = await Promise.all(page.map((source) => inSlot(() => findSource(source, storages.from))));
    const below = isChecked || !storages.mayBeSameService ? undefined : found.find(({ uri }) => isBelow(uri, options));
    if (below !== undefined) {
      await checkAlias(below, storages);
      isChecked = true;
    }
    yield found;
  }
}

async function findSource(source: SourceFile, from: Storage): Promise<SourceFile> {
  const { uri, size } = source;
  const found = await from.find(uri);
  if (found === undefined) throw new CopyError(`${uri}: the manifest names a file that does not exist`);
  if (found.size !== size) {
    throw new CopyError(`${uri}: the file has ${found.size} bytes, but the manifest says ${size}`);
  }
  return { ...source, ...found };
}

export interface ManifestParts {
  readonly finished: FinishedOutputs;
  /** Entries of the previous manifest whose files were not copied again. */
  readonly carriedOver: Iterable<ManifestEntry>;
  readonly scratchFolder: string;
  readonly signal: AbortSignal;
}

/** The contents of the new manifest: all copied files, and the entries that are carried over from the previous one. */
export async function* manifestContents(
  dest: string,
  { finished, carriedOver, scratchFolder, signal }: ManifestParts,
): AsyncGenerator<Buffer> {
  const writer = new ManifestWriter(scratchFolder);
  try {
    const srcDir = dest.replace(/\/+$/, "");
    for await (const { name: baseName, size } of finished.outputs()) {
      writer.add({ path: outputUri(dest, baseName), baseName, srcDir, size });
    }
    for (const entry of carriedOver) writer.add(entry);
    yield* writer.finish(signal);
  } finally {
    writer.close();
  }
}
