import { limitConcurrency } from "../../../lib/limit-concurrency.ts";
import { ObjectStoreError } from "../../../object-store/object-store-error.ts";
import { MAX_PARTS } from "../../../object-store/s3/s3-multipart.ts";
import type { ObjectAttributes } from "../../../object-store/s3/s3-operations.ts";
import type { CopyOptions } from "../options/copy-options.ts";
import type { PlannedOutput, SourceFile } from "../plan/planned-output.ts";
import { joinPieces } from "../storage/join-pieces.ts";
import { COPY_LIMIT_BYTES, S3Storage } from "../storage/s3-storage.ts";
import {
  NO_ATTRIBUTES,
  type OutputWriter,
  type SourceReader,
  type SpoolFolder,
  type Storage,
} from "../storage/storage.ts";
import { appendOutput, type AppendParts } from "./append-output.ts";
import { assembleOutput } from "./assemble-output.ts";
import { ByteBudget } from "./byte-budget.ts";
import { cutParts, outputContents, STREAM_BYTES } from "./output-contents.ts";
import { PartBuffers } from "./part-buffers.ts";
import { MIN_PART_BYTES, maxPartsOf, PartSizes } from "./part-sizes.ts";
import { sendOutput, spoolOutput, tooLarge } from "./spool-output.ts";
import { chained, finishing, wholeWriter, withoutCopies, writeInOrder } from "./writers.ts";

const MIB = 1024 * 1024;
/** A server-side copy of more than `wholeBytes` is made in parts, several at a time. */
const COPY_SIZES = { wholeBytes: 256 * MIB, partBytes: 128 * MIB };
/** At least this many parts fit into the memory of a copy. */
export const PARTS_IN_MEMORY = 4;

/** Smaller files are read into new memory, which costs less than reusing it. */
const REUSED_BYTES = MIB;

export interface TransferOptions {
  /** Called only after the first source is known. */
  readonly from: () => Storage;
  readonly to: Storage;
  readonly journal: AppendParts["journal"];
  readonly copy: Pick<CopyOptions, "chunkSizeMiB" | "disableMultipartUpload" | "appendToLastFile">;
  readonly slots: number;
  readonly bufferBytes: number;
  readonly signal: AbortSignal;
  /** The folder for outputs that do not fit into memory. */
  readonly spoolFolder: () => SpoolFolder;
  /** Called with the bytes of sources that were copied; negative if they have to be copied again. */
  readonly onBytes: (bytes: number) => void;
  /** For tests. */
  readonly copySizes?: typeof COPY_SIZES;
}

interface OutputParts {
  readonly attributes: ObjectAttributes;
  readonly from: SourceReader;
}

interface AssembleWay {
  readonly copiesParts: boolean;
  readonly onWritten?: (bytes: number) => void;
}

/**
 * Writes outputs, each in the cheapest way that its storages and contents allow:
 *
 * | Output | Way |
 * |---|---|
 * | one object, S3 to the same S3 | a server-side copy |
 * | one small file | one read, one write |
 * | larger, or several sources | parts, several at a time (`assemble-output.ts`) |
 * | another compression | a stream (`output-contents.ts`), written in parts |
 * | larger than a part, and no multipart upload allowed | a stream in one request; if its size is unknown, through the temporary folder |
 */
export class OutputTransfer {
  readonly #options: TransferOptions;
  readonly #budget: ByteBudget;
  readonly #buffers: PartBuffers;
  readonly #inSlot: <T>(work: () => Promise<T>) => Promise<T>;
  /**
   * Limits the outputs of several parts that are open in HDFS, so that each has two parts in memory on average. With more
   * of them, a connection would be silent for a long time until its output gets the memory for the next part.
   */
  readonly #inOpenSlot: <T>(work: () => Promise<T>) => Promise<T>;
  /** The destination, if it must get each object in one request. */
  readonly #withoutParts: S3Storage | undefined;
  /** False if the store cannot copy parts: some cannot, or not those that are encrypted with a customer's key. */
  #copiesParts = true;
  readonly #copySizes: typeof COPY_SIZES;

  constructor(options: TransferOptions) {
    const { to, copy, bufferBytes, signal, slots } = options;
    this.#options = options;
    this.#budget = new ByteBudget(bufferBytes, signal);
    this.#buffers = new PartBuffers(this.#partBytes(0), bufferBytes);
    this.#inSlot = limitConcurrency(slots);
    this.#inOpenSlot = limitConcurrency(Math.max(1, Math.floor(bufferBytes / (2 * this.#partBytes(0)))));
    this.#copySizes = options.copySizes ?? COPY_SIZES;
    this.#withoutParts = to instanceof S3Storage && copy.disableMultipartUpload ? to : undefined;
  }

  /** `uri`: the destination. Resolves to the size of the output when it is complete and verified. */
  async run(output: PlannedOutput, uri: string): Promise<number> {
    const from = this.#options.from();
    if (!this.#options.copy.appendToLastFile) return this.#run(output, uri, from);
    const appended = await appendOutput(output, uri, { ...this.#options, from });
    return this.#run(appended.output, uri, appended.from);
  }

  /** The destination, if it can make server-side copies of the sources. */
  #serverSideTarget(): S3Storage | undefined {
    const { from, to } = this.#options;
    return to instanceof S3Storage && to.canCopyFrom(from()) ? to : undefined;
  }

  async #run(output: PlannedOutput, uri: string, from: SourceReader): Promise<number> {
    const { single } = output;
    const partBytes = this.#partBytes(output.bytes);
    const copier = this.#serverSideTarget();
    if (output.recoding !== null) {
      return this.#stream(output, uri, { attributes: await this.#recodedAttributes(single), from });
    }
    if (single !== null && copier !== undefined && single.size <= this.#wholeCopyBytes()) {
      await copier.serverSideCopy(single, uri);
      this.#options.onBytes(single.size);
      return single.size;
    }
    if (single !== null && single.size <= partBytes) return this.#copySmall(single, uri);
    const attributes = single === null ? NO_ATTRIBUTES : await this.#attributesOf(single);
    if (this.#withoutParts !== undefined && output.bytes > partBytes) {
      if (output.bytes > COPY_LIMIT_BYTES) throw tooLarge(uri);
      return this.#sendWhole(output, this.#withoutParts, uri, { attributes, from });
    }
    return this.#assembleOrRead(output, uri, { attributes, from });
  }

  /** Makes server-side copies of parts if possible. Reads everything if the store turns out not to support that. */
  async #assembleOrRead(output: PlannedOutput, uri: string, parts: OutputParts): Promise<number> {
    const { onBytes } = this.#options;
    if (!this.#canCopyParts(output)) return this.#assemble(output, uri, { ...parts, copiesParts: false });
    let written = 0;
    const onWritten = (bytes: number): void => {
      written += bytes;
      onBytes(bytes);
    };
    try {
      return await this.#assemble(output, uri, { ...parts, copiesParts: true, onWritten });
    } catch (error) {
      if (!isNotImplemented(error)) throw error;
      this.#copiesParts = false;
      onBytes(-written);
      return this.#assemble(output, uri, { ...parts, copiesParts: false });
    }
  }

  /** Writes an output of known size in one request. */
  async #sendWhole(output: PlannedOutput, to: S3Storage, uri: string, parts: OutputParts): Promise<number> {
    const { signal, onBytes } = this.#options;
    await this.#budget.take(STREAM_BYTES);
    try {
      const read = { inSlot: this.#inSlot, onRead: onBytes, signal };
      return await sendOutput(output, parts.from, to, { target: { uri, attributes: parts.attributes }, read });
    } finally {
      this.#budget.give(STREAM_BYTES);
    }
  }

  async #copySmall(source: SourceFile, uri: string): Promise<number> {
    const { to, onBytes } = this.#options;
    const from = this.#options.from();
    const held = this.#buffers.roundUp(source.size);
    const wait = this.#budget.take(held);
    if (wait !== undefined) await wait;
    const into = source.size < REUSED_BYTES ? undefined : this.#buffers.take(source.size);
    try {
      const { bytes, attributes } = await from.read(source, { offset: 0, length: source.size }, into);
      await to.write(uri, bytes, kept(source, attributes));
    } finally {
      if (into !== undefined) this.#buffers.give(into);
      this.#budget.give(held);
    }
    onBytes(source.size);
    return source.size;
  }

  async #assemble(output: PlannedOutput, uri: string, way: OutputParts & AssembleWay): Promise<number> {
    const { to, signal } = this.#options;
    if (to.scheme !== "hdfs" || output.bytes <= this.#partBytes(output.bytes))
      return this.#assembleNow(output, uri, way);
    return this.#inOpenSlot(() => {
      signal.throwIfAborted();
      return this.#assembleNow(output, uri, way);
    });
  }

  async #assembleNow(
    output: PlannedOutput,
    uri: string,
    { attributes, from, copiesParts, onWritten = this.#options.onBytes }: OutputParts & AssembleWay,
  ): Promise<number> {
    const { to } = this.#options;
    const { bytes } = output;
    const partBytes = this.#partBytes(bytes);
    const writer = bytes <= partBytes ? wholeWriter(to, uri, attributes) : await to.create(uri, { bytes, attributes });
    await finishing(writer, this.#options.signal, async () => {
      await assembleOutput(output, from, copiesParts ? writer : withoutCopies(writer), {
        partBytes,
        copyPartBytes: Math.max(this.#copySizes.partBytes, Math.ceil(bytes / MAX_PARTS)),
        inSlot: this.#inSlot,
        budget: this.#budget,
        buffers: this.#buffers,
        onWritten,
      });
      return bytes;
    });
    return bytes;
  }

  /** False also if there would be more parts than an object can have. */
  #canCopyParts({ bytes, sourceCount }: PlannedOutput): boolean {
    const isPossible = this.#copiesParts && this.#serverSideTarget() !== undefined;
    return isPossible && 2 * sourceCount + bytes / this.#copySizes.partBytes < MAX_PARTS;
  }

  async #stream(output: PlannedOutput, uri: string, { attributes, from }: OutputParts): Promise<number> {
    const { signal, onBytes } = this.#options;
    const contents = outputContents(output, from, { inSlot: this.#inSlot, onRead: onBytes, signal });
    return this.write(contents, uri, { attributes, expectedBytes: output.bytes });
  }

  /** Writes contents whose size is known only at their end. */
  async write(
    contents: AsyncIterable<Buffer>,
    uri: string,
    { attributes = NO_ATTRIBUTES, expectedBytes = 0 }: { attributes?: ObjectAttributes; expectedBytes?: number } = {},
  ): Promise<number> {
    const { to, bufferBytes, signal } = this.#options;
    const partBytes = this.#partBytes(expectedBytes);
    const maxParts = maxPartsOf(to.scheme);
    const sizes = new PartSizes({ partBytes, bufferBytes, budget: this.#budget, maxParts });
    try {
      const parts = cutParts(untilAborted(contents, signal), (number) => sizes.sizeOf(number))[Symbol.asyncIterator]();
      const first = await parts.next();
      const second = first.done === true ? first : await parts.next();
      if (second.done === true) {
        const bytes = joinPieces(first.done === true ? [] : first.value);
        await to.write(uri, bytes, attributes);
        return bytes.length;
      }
      const all = chained([first.value ?? [], second.value], parts);
      return await (this.#withoutParts === undefined
        ? this.#writeParts(all, await to.create(uri, { bytes: undefined, attributes }))
        : this.#spool(all, this.#withoutParts, { uri, attributes }));
    } finally {
      sizes.release();
    }
  }

  #writeParts(parts: AsyncIterable<readonly Buffer[]>, writer: OutputWriter): Promise<number> {
    return finishing(writer, this.#options.signal, () => writeInOrder(writer, parts));
  }

  async #spool(
    parts: AsyncIterable<readonly Buffer[]>,
    to: S3Storage,
    target: { readonly uri: string; readonly attributes: ObjectAttributes },
  ): Promise<number> {
    const { spoolFolder, signal } = this.#options;
    const read = { inSlot: this.#inSlot, onRead: () => undefined, signal };
    return spoolOutput(parts, to, target, { folder: spoolFolder(), read });
  }

  async #attributesOf(source: SourceFile): Promise<ObjectAttributes> {
    return kept(source, await this.#options.from().attributesOf(source));
  }

  /** Without the type and the encoding, which may differ after a change of the compression. */
  async #recodedAttributes(source: SourceFile | null): Promise<ObjectAttributes> {
    const { from, to } = this.#options;
    if (source === null || from().scheme !== "s3" || to.scheme !== "s3") return NO_ATTRIBUTES;
    const { metadata, storageClass } = await this.#attributesOf(source);
    return { metadata, storageClass };
  }

  #wholeCopyBytes(): number {
    return this.#withoutParts === undefined ? this.#copySizes.wholeBytes : COPY_LIMIT_BYTES;
  }

  /** At most a share of the memory, unless an object of S3 would then have too many parts. */
  #partBytes(totalBytes: number): number {
    const { copy, bufferBytes, to } = this.#options;
    const share = Math.max(MIN_PART_BYTES, Math.floor(bufferBytes / PARTS_IN_MEMORY));
    return Math.max(Math.min(copy.chunkSizeMiB * MIB, share), Math.ceil(totalBytes / maxPartsOf(to.scheme)));
  }
}

/** A small source can expand to gigabytes: a copy that was told to end must not go on writing them. */
async function* untilAborted(contents: AsyncIterable<Buffer>, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const piece of contents) {
    signal.throwIfAborted();
    yield piece;
  }
}

function kept(source: SourceFile, attributes: ObjectAttributes): ObjectAttributes {
  return source.storageClass === null ? attributes : { storageClass: source.storageClass, ...attributes };
}

function isNotImplemented(error: unknown): boolean {
  return error instanceof ObjectStoreError && error.code === "NotImplemented";
}
