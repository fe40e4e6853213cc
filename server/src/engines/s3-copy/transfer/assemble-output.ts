import type { PlannedOutput, SourceFile } from "../plan/planned-output.ts";
import { COPY_LIMIT_BYTES } from "../storage/s3-storage.ts";
import type { OutputWriter, Range, SourceReader } from "../storage/storage.ts";
import type { ByteBudget } from "./byte-budget.ts";
import type { PartBuffers } from "./part-buffers.ts";
import { MIN_PART_BYTES } from "./part-sizes.ts";
import { RangedCrc32 } from "./ranged-crc32.ts";

export interface AssembleOptions {
  readonly partBytes: number;
  /** The size of parts that are copied server-side; at most 5 GiB less 5 MiB. */
  readonly copyPartBytes: number;
  /** Limits concurrent reads. */
  readonly inSlot: <T>(work: () => Promise<T>) => Promise<T>;
  readonly budget: ByteBudget;
  readonly buffers: PartBuffers;
  /** Called with the size of each part after it was written. */
  readonly onWritten: (bytes: number) => void;
}

/**
 * Writes an output as parts of equal size, several at a time. The sizes of the sources are known, so each part knows which
 * ranges of which sources it consists of, and the parts need not wait for each other. If the store can make
 * server-side copies of parts, only sources of less than 5 MiB are read.
 */
export async function assembleOutput(
  output: PlannedOutput,
  from: SourceReader,
  writer: OutputWriter,
  options: AssembleOptions,
): Promise<void> {
  const assembly = new Assembly(output.bytes, from, writer, options);
  try {
    for await (const source of output.sources()) await assembly.add(source);
    await assembly.finish();
  } catch (error) {
    await assembly.settle();
    throw error;
  }
}

class Assembly {
  readonly #totalBytes: number;
  readonly #from: SourceReader;
  readonly #writer: OutputWriter;
  readonly #options: AssembleOptions;
  readonly #copyPart: OutputWriter["copyPart"];
  readonly #running = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;
  #part: PendingPart | undefined;
  /** Of the last source that is read in ranges. */
  #checksum: RangedCrc32 | undefined;
  #number = 0;
  #offset = 0;

  constructor(totalBytes: number, from: SourceReader, writer: OutputWriter, options: AssembleOptions) {
    this.#totalBytes = totalBytes;
    this.#from = from;
    this.#writer = writer;
    this.#options = options;
    this.#copyPart = writer.copyPart?.bind(writer);
  }

  async add(source: SourceFile): Promise<void> {
    for (let offset = 0; offset < source.size;) {
      this.#throwIfFailed();
      const left = source.size - offset;
      const copied = this.#copyableBytes(left);
      if (copied > 0) this.#copy(source, { offset, length: copied });
      offset += copied > 0 ? copied : await this.#read(source, offset, left);
    }
  }

  async finish(): Promise<void> {
    this.#flush();
    await this.settle();
    this.#throwIfFailed();
  }

  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
    if (this.#part !== undefined) {
      await Promise.allSettled(this.#part.reads);
      this.#close(this.#part);
      this.#part = undefined;
    }
  }

  /** The bytes that can be copied server-side now. First, a part that is begun must reach the least size. */
  #copyableBytes(left: number): number {
    if (this.#copyPart === undefined || left < MIN_PART_BYTES) return 0;
    const begun = this.#part?.filled ?? 0;
    if (begun > 0 && begun < MIN_PART_BYTES) return 0;
    const { copyPartBytes } = this.#options;
    // No rest is left that would be too small for a part.
    return left - copyPartBytes < MIN_PART_BYTES ? Math.min(left, COPY_LIMIT_BYTES) : copyPartBytes;
  }

  #copy(source: SourceFile, range: Range): void {
    this.#flush();
    const part = this.#next(range.length);
    this.#run(async () => {
      await this.#options.inSlot(async () => this.#copyPart?.(part, source, range));
      this.#options.onWritten(range.length);
    });
  }

  /** Returns the number of bytes that the current part takes. */
  async #read(source: SourceFile, offset: number, left: number): Promise<number> {
    const part = (this.#part ??= await this.#open());
    // If the part is still too small, only the missing bytes are read, so that the rest can be copied.
    const canCopyRest = this.#copyPart !== undefined && left - (MIN_PART_BYTES - part.filled) >= MIN_PART_BYTES;
    const wanted = canCopyRest && part.filled < MIN_PART_BYTES ? MIN_PART_BYTES - part.filled : left;
    const length = Math.min(wanted, part.buffer.length - part.filled);
    const into = part.buffer.subarray(part.filled, part.filled + length);
    const checksum = length < source.size ? this.#checksumOf(source) : undefined;
    const read = this.#options.inSlot(async () => {
      const { bytes } = await this.#from.read(source, { offset, length }, into);
      if (bytes.buffer !== into.buffer || bytes.byteOffset !== into.byteOffset) bytes.copy(into);
      await checksum?.add(offset, into);
    });
    read.catch((error: unknown) => (this.#failure ??= { error }));
    part.reads.push(read);
    part.filled += length;
    if (part.filled === part.buffer.length) this.#flush();
    // The number of pending reads of small sources is limited, because each takes memory of its own.
    if (part.reads.length % PENDING_READS === 0) await Promise.allSettled(part.reads.splice(0));
    return length;
  }

  /** Undefined: the store copies a part of the source itself. */
  #checksumOf(source: SourceFile): RangedCrc32 | undefined {
    if (this.#copyPart !== undefined && source.size >= MIN_PART_BYTES) return undefined;
    if (this.#checksum?.source !== source) this.#checksum = new RangedCrc32(source, this.#from);
    return this.#checksum;
  }

  async #open(): Promise<PendingPart> {
    const bytes = Math.min(this.#options.partBytes, this.#totalBytes - this.#offset);
    const { budget, buffers } = this.#options;
    await budget.take(buffers.roundUp(bytes));
    return { buffer: buffers.take(bytes), filled: 0, reads: [] };
  }

  #close({ buffer }: PendingPart): void {
    const { budget, buffers } = this.#options;
    buffers.give(buffer);
    budget.give(buffers.roundUp(buffer.length));
  }

  #flush(): void {
    const part = this.#part;
    if (part === undefined) return;
    this.#part = undefined;
    const position = this.#next(part.filled);
    const reads = [...part.reads]; // a copy, because `#read` empties the list
    this.#run(async () => {
      try {
        await Promise.all(reads);
        this.#throwIfFailed(); // a read that was already removed from the list may have failed
        await this.#writer.write({ ...position, bytes: [part.buffer.subarray(0, part.filled)] });
      } finally {
        await Promise.allSettled(reads); // they may still write into the buffer
        this.#close(part);
      }
      this.#options.onWritten(part.filled);
    });
  }

  #next(bytes: number): { number: number; offset: number } {
    this.#number += 1;
    const offset = this.#offset;
    this.#offset += bytes;
    return { number: this.#number, offset };
  }

  #run(work: () => Promise<void>): void {
    const running = work()
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  #throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }
}

const PENDING_READS = 64;

interface PendingPart {
  readonly buffer: Buffer;
  filled: number;
  readonly reads: Promise<unknown>[];
}
