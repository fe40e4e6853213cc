import { CodecError, truncated } from "../blocks/codec-error.ts";

/** Reads fields and blocks from a stream of chunks. Holds one chunk, and the bytes of the block that is being read. */
export class ByteReader {
  readonly #source: AsyncIterator<Buffer>;
  #chunk: Buffer = Buffer.alloc(0);
  #at = 0;
  #position = 0;

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]();
  }

  /** The number of bytes read so far. */
  get position(): number {
    return this.#position;
  }

  async isAtEnd(): Promise<boolean> {
    while (this.#at === this.#chunk.length) {
      const next = await this.#source.next();
      if (next.done === true) return true;
      this.#chunk = next.value;
      this.#at = 0;
    }
    return false;
  }

  /** Exactly `count` bytes in memory of their own, which may be transferred to another thread. */
  async read(count: number): Promise<Buffer<ArrayBuffer>> {
    const pieces: Buffer[] = [];
    // The pieces are collected first, so that a length in a damaged file allocates nothing.
    for (let missing = count; missing > 0;) {
      if (await this.isAtEnd()) throw truncated(this.#position);
      const piece = this.#chunk.subarray(this.#at, this.#at + missing);
      pieces.push(piece);
      this.#at += piece.length;
      this.#position += piece.length;
      missing -= piece.length;
    }
    const bytes = Buffer.from(new ArrayBuffer(count));
    let at = 0;
    for (const piece of pieces) at += piece.copy(bytes, at);
    return bytes;
  }

  async readUInt32(): Promise<number> {
    return (await this.read(4)).readUInt32BE(0);
  }

  /** An error about the bytes that were read last. */
  error(message: string): CodecError {
    return new CodecError(`${message} (before byte ${this.#position})`);
  }

  async close(): Promise<void> {
    await this.#source.return?.();
  }
}
