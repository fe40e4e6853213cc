import { noteDropped } from "../dropped-memory.ts";

/** Smaller buffers are not worth keeping. */
const MIN_BYTES = 256 * 1024;

/**
 * Reuses the memory of parts and files: allocating and freeing megabytes for each of them costs a third of the time of a
 * copy from S3 to files. Sizes are rounded up to the largest one, its half, its quarter and so on, so that there are few.
 * A byte budget limits the memory in use. The memory in use and the free memory together never exceed it.
 */
export class PartBuffers {
  readonly #largestBytes: number;
  readonly #limitBytes: number;
  readonly #free = new Map<number, Buffer[]>();
  #heldBytes = 0;

  /** `largestBytes`: the size of most parts. `limitBytes`: the budget. */
  constructor(largestBytes: number, limitBytes: number) {
    this.#largestBytes = largestBytes;
    this.#limitBytes = limitBytes;
  }

  /** The memory that a buffer of this size takes. */
  roundUp(bytes: number): number {
    if (bytes > this.#largestBytes || bytes < MIN_BYTES) return bytes;
    let size = this.#largestBytes;
    for (let half = size / 2; half >= bytes && Number.isInteger(half); half = size / 2) size = half;
    return size;
  }

  take(bytes: number): Buffer {
    const size = this.roundUp(bytes);
    return (this.#free.get(size)?.pop() ?? this.#allocate(size)).subarray(0, bytes);
  }

  /** The caller must not use the buffer any more. */
  give(buffer: Buffer): void {
    const whole = Buffer.from(buffer.buffer);
    if (!this.#isReused(whole.length)) {
      this.#drop(whole);
      return;
    }
    const free = this.#free.get(whole.length) ?? [];
    this.#free.set(whole.length, free);
    free.push(whole);
  }

  /** In use and free. */
  get heldBytes(): number {
    return this.#heldBytes;
  }

  #allocate(size: number): Buffer {
    for (const free of this.#free.values()) {
      while (this.#heldBytes + size > this.#limitBytes && free.length > 0) this.#drop(free.pop());
    }
    this.#heldBytes += size;
    return Buffer.allocUnsafeSlow(size);
  }

  #drop(buffer: Buffer | undefined): void {
    const bytes = buffer?.length ?? 0;
    this.#heldBytes -= bytes;
    noteDropped(bytes);
  }

  #isReused(size: number): boolean {
    return size >= MIN_BYTES && this.roundUp(size) === size && size <= this.#largestBytes;
  }
}
