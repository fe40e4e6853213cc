import { Readable } from "node:stream";
import { ObjectStoreError } from "../../../object-store/object-store-error.ts";
import type { ObjectStore } from "../../../object-store/object-store.ts";
import type { HdfsStore } from "../../../object-store/hdfs/hdfs-store.ts";
import { CopyError } from "../copy-error.ts";
import type { SourceFile } from "../plan/planned-output.ts";
import { changedWhileCopied, isUnchanged } from "./file-storage.ts";
import { removeTogether, type RemovalRetries } from "./remove-sources.ts";
import { lastName, NO_ATTRIBUTES, nameBelow } from "./storage.ts";
import type { FoundFile, KeptSource, OutputWriter, RemovableFile, Storage } from "./storage.ts";

const PIECE_BYTES = 256 * 1024;
/** Less than the ten seconds between SIGTERM and the kill. */
const REMOVE_MS = 8_000;

/** The account's HDFS. */
export function hdfsStorage(store: HdfsStore, removal: RemovalRetries, signal: AbortSignal): Storage {
  const find = async (uri: string): Promise<FoundFile | undefined> => {
    if (uri.endsWith("/")) return undefined;
    try {
      const { size, modifiedAt } = await store.stat(uri, { signal });
      return { size, modifiedMs: modifiedAt.getTime(), etag: null, storageClass: null };
    } catch (error) {
      if (error instanceof ObjectStoreError && error.kind === "missing") return undefined;
      throw error;
    }
  };
  return {
    scheme: "hdfs",
    async *list(uri) {
      const own = await find(uri);
      if (own !== undefined) yield [{ ...own, uri, name: lastName(uri) }];
      else if (await store.isFolder(uri, { signal })) {
        yield [];
        yield* pagesBelow(store, uri, signal);
      }
    },
    find,
    async read(source, range) {
      if (range.length === 0) return { bytes: Buffer.alloc(0), attributes: NO_ATTRIBUTES };
      const read = await settled(store.read(source.uri, range, { signal }));
      // Afterwards: the bytes, or the failure to read them, may come from a file that has replaced the source.
      const found = await find(source.uri);
      if (found !== undefined && !isUnchanged(source, found)) throw changedWhileCopied(source.uri);
      if (read.status === "rejected") throw read.reason;
      if (found === undefined) throw changedWhileCopied(source.uri);
      return { bytes: read.value, attributes: NO_ATTRIBUTES };
    },
    attributesOf: () => Promise.resolve(NO_ATTRIBUTES),
    async write(uri, bytes) {
      await store.put(uri, bytes, { signal });
      await verifySize(find, uri, bytes.length);
    },
    create: (uri) => Promise.resolve(hdfsWriter(store, uri, signal, (bytes) => verifySize(find, uri, bytes))),
    async remove(sources) {
      const deleteOnce = async (files: readonly RemovableFile[]): Promise<[]> => {
        for (const { uri } of files) await store.deleteOnce(uri, { signal });
        return [];
      };
      const kept: KeptSource[] = [];
      for (const source of sources) {
        kept.push(...(await removeTogether([source], { ...removal, find, isUnchanged, deleteOnce, signal })));
      }
      return kept;
    },
    removeOutput: (uri) => store.delete(uri, { signal }),
    removeUnfinished: (uri) => store.removeUnfinished(uri, { signal }),
    async removeTemporary(uri) {
      const options = { signal: AbortSignal.timeout(REMOVE_MS) };
      await store.delete(uri, options);
      await store.removeUnfinished(uri, options);
    },
    settle: () => Promise.resolve(), // HDFS acknowledges a file when its replicas have it
    close: () => store.close(),
  };
}

async function settled<T>(work: Promise<T>): Promise<PromiseSettledResult<T>> {
  const [result] = await Promise.allSettled([work]);
  return result;
}

async function* pagesBelow(store: HdfsStore, uri: string, signal: AbortSignal): AsyncGenerator<SourceFile[]> {
  const folder = uri.endsWith("/") ? uri : `${uri}/`;
  for await (const page of store.listPages(folder, { signal })) {
    const files: SourceFile[] = [];
    for (const { uri: found, size, modifiedAt } of page) {
      const name = nameBelow(folder, found);
      if (name === undefined) continue;
      files.push({ uri: found, name, size, modifiedMs: modifiedAt.getTime(), etag: null, storageClass: null });
    }
    yield files;
  }
}

async function verifySize(find: Storage["find"], uri: string, bytes: number): Promise<void> {
  const found = await find(uri);
  if (found?.size !== bytes) {
    throw new CopyError(`${uri}: the copy has ${found?.size ?? 0} bytes instead of ${bytes}; copy it again`);
  }
}

/**
 * HDFS takes the bytes of a file in order, so each part waits for the previous ones. The request begins when the first
 * part is in memory, because servers end requests that send nothing for too long.
 */
function hdfsWriter(
  store: ObjectStore,
  uri: string,
  signal: AbortSignal,
  verify: (bytes: number) => Promise<void>,
): OutputWriter {
  const parts = new OrderedParts();
  let stored: Promise<unknown> | undefined;
  const begin = (): Promise<unknown> => {
    if (stored === undefined) {
      stored = store.put(uri, Readable.from(parts.inOrder(), { objectMode: false }), { signal });
      stored.catch((error: unknown) => parts.fail(error));
    }
    return stored;
  };
  return {
    write({ number, bytes }) {
      if (number === 1) void begin(); // its failure is the part's
      return parts.add(number, bytes);
    },
    async finish(totalBytes) {
      parts.end();
      await begin();
      await verify(totalBytes);
    },
    async discard() {
      parts.fail(new CopyError(`${uri}: the copy was abandoned`));
      await stored?.catch(() => undefined);
    },
  };
}

/** Copies the bytes, because a stream and a socket may still hold them when the memory of the part is used again. */
function* copiesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield Buffer.from(bytes.subarray(at, at + PIECE_BYTES));
}

class OrderedParts {
  readonly #parts = new Map<
    number,
    { readonly bytes: readonly Buffer[]; readonly taken: () => void; readonly fail: (reason: unknown) => void }
  >();
  #changed = Promise.withResolvers<void>();
  #isEnded = false;
  #failure: { readonly error: unknown } | undefined;

  /** Resolves when the part was taken: its memory can be used again. */
  async add(number: number, bytes: readonly Buffer[]): Promise<void> {
    if (this.#failure !== undefined) throw this.#failure.error; // it names the file and the cause
    await new Promise<void>((taken, fail) => {
      this.#parts.set(number, { bytes, taken, fail });
      this.#notify();
    });
  }

  end(): void {
    this.#isEnded = true;
    this.#notify();
  }

  fail(error: unknown): void {
    this.#failure ??= { error };
    for (const { fail } of this.#parts.values()) fail(error);
    this.#notify();
  }

  async *inOrder(): AsyncGenerator<Buffer> {
    for (let number = 1; ;) {
      if (this.#failure !== undefined) throw this.#failure.error;
      const part = this.#parts.get(number);
      if (part !== undefined) {
        for (const bytes of part.bytes) yield* copiesOf(bytes);
        part.taken();
        this.#parts.delete(number);
        number += 1;
      } else if (this.#isEnded) {
        return;
      } else {
        await this.#changed.promise;
      }
    }
  }

  #notify(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }
}
