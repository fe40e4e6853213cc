import { bytesPerMiB } from "../../../lib/size-text.ts";
import type { ObjectScheme } from "../../../object-store/object-uri.ts";
import { MAX_PARTS } from "../../../object-store/s3/s3-multipart.ts";
import { CopyError } from "../copy-error.ts";
import type { ByteBudget } from "./byte-budget.ts";
import { STREAM_BYTES } from "./output-contents.ts";

/** All parts of an S3 upload except the last have at least this size. */
export const MIN_PART_BYTES = 5 * bytesPerMiB;
/** Each time after this many parts, their size doubles. */
const DOUBLED_AFTER = 500;
/** One part is written while the next is made. */
const HELD_PARTS = 2;
/** The first part is joined from pieces, so that it is in memory twice. */
const FIRST_HELD_PARTS = 3;

export interface PartSizesOptions {
  /** The size of the first part. */
  readonly partBytes: number;
  /** The memory for all outputs together. */
  readonly bufferBytes: number;
  readonly budget: ByteBudget;
  /** Infinite unless the destination is S3. */
  readonly maxParts: number;
}

/**
 * The sizes of the parts of an output whose own size is known only at its end: decoded contents may be a thousand times as
 * large as their source, and S3 limits the number of parts. The parts grow with their number as far as the memory allows.
 */
export class PartSizes {
  readonly #options: PartSizesOptions;
  readonly #firstBytes: number;
  readonly #largestBytes: number;
  #partBytes = 0;
  #held = 0;

  constructor(options: PartSizesOptions) {
    const { partBytes, bufferBytes } = options;
    const room = bufferBytes - STREAM_BYTES;
    this.#options = options;
    this.#firstBytes = Math.min(partBytes, Math.max(MIN_PART_BYTES, Math.floor(room / FIRST_HELD_PARTS)));
    this.#largestBytes = Math.max(this.#firstBytes, Math.floor(room / HELD_PARTS));
  }

  /** Resolves when there is memory for this part and for those that are still being written. Counts from 1. */
  async sizeOf(number: number): Promise<number> {
    const { maxParts } = this.#options;
    if (number > maxParts) {
      const most = `${maxParts} parts of up to ${Math.floor(this.#largestBytes / bytesPerMiB)} MiB`;
      throw new CopyError(
        `an output is larger than ${most}, the most that one object can have here: use --groupBy with --targetSize, or ` +
          "leave out --outputCodec",
      );
    }
    const grown = this.#firstBytes * 2 ** Math.floor((number - 1) / DOUBLED_AFTER);
    const size = Math.min(grown, this.#largestBytes);
    if (size === this.#partBytes) return size;
    await this.#hold(STREAM_BYTES + (size > this.#firstBytes ? HELD_PARTS : FIRST_HELD_PARTS) * size);
    this.#partBytes = size;
    return size;
  }

  /** Call it when all parts are written. */
  release(): void {
    this.#options.budget.give(this.#held);
    this.#held = 0;
  }

  /** Gives everything back first: outputs that kept some memory while they wait for more could block each other. */
  async #hold(bytes: number): Promise<void> {
    this.release();
    await this.#options.budget.take(bytes);
    this.#held = bytes;
  }
}

/** The most parts that an output can have. */
export function maxPartsOf(scheme: ObjectScheme): number {
  return scheme === "s3" ? MAX_PARTS : Infinity;
}
