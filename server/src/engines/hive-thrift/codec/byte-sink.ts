/** A growing buffer. */
export class ByteSink {
  #bytes = Buffer.allocUnsafe(1024);
  #at = 0;

  get written(): Buffer {
    return this.#bytes.subarray(0, this.#at);
  }

  int8(value: number): void {
    this.#at = this.#room(1).writeInt8(value, this.#at);
  }

  int16(value: number): void {
    this.#at = this.#room(2).writeInt16BE(value, this.#at);
  }

  int32(value: number): void {
    this.#at = this.#room(4).writeInt32BE(value, this.#at);
  }

  int64(value: bigint): void {
    this.#at = this.#room(8).writeBigInt64BE(value, this.#at);
  }

  double(value: number): void {
    this.#at = this.#room(8).writeDoubleBE(value, this.#at);
  }

  /** Writes the length before the text. */
  text(value: string): void {
    const length = Buffer.byteLength(value);
    this.int32(length);
    this.#at += this.#room(length).write(value, this.#at);
  }

  #room(count: number): Buffer {
    const needed = this.#at + count;
    if (needed > this.#bytes.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, this.#bytes.length * 2));
      this.#bytes.copy(larger, 0, 0, this.#at);
      this.#bytes = larger;
    }
    return this.#bytes;
  }
}
