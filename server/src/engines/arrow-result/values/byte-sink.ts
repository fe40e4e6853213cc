/**
 * Where text is written as bytes. Writers call `reserve` for as much as they may write and then set `bytes` and `at`
 * themselves: a call per byte would cost more than the byte.
 */
export class ByteSink {
  bytes: Uint8Array<ArrayBuffer>;
  at = 0;

  constructor(size: number) {
    this.bytes = new Uint8Array(size);
  }

  reserve(count: number): void {
    if (this.at + count > this.bytes.length) this.#grow(this.at + count);
  }

  byte(value: number): void {
    this.reserve(1);
    this.bytes[this.at++] = value;
  }

  /** Short and of ASCII alone. */
  ascii(text: string): void {
    this.reserve(text.length);
    for (let i = 0; i < text.length; i++) this.bytes[this.at++] = text.charCodeAt(i);
  }

  text(text: string): void {
    this.reserve(text.length * 3);
    this.at += encoder.encodeInto(text, this.bytes.subarray(this.at)).written;
  }

  copy(from: Uint8Array, start: number, end: number): void {
    const count = end - start;
    this.reserve(count);
    const { bytes, at } = this;
    this.at = at + count;
    if (count > LONG_COPY) {
      bytes.set(from.subarray(start, end), at);
      return;
    }
    for (let i = 0; i < count; i++) bytes[at + i] = from[start + i] ?? 0;
  }

  /** The text from a place on. */
  toText(from: number): string {
    return Buffer.from(this.bytes.buffer, from, this.at - from).toString("utf8");
  }

  #grow(needed: number): void {
    if (needed > LARGEST_BYTES) throw new Error("a row is too long to be shown");
    const bytes = new Uint8Array(Math.min(LARGEST_BYTES, Math.max(needed, this.bytes.length * 2)));
    bytes.set(this.bytes.subarray(0, this.at));
    this.bytes = bytes;
  }
}

const encoder = new TextEncoder();
/** Of text with one row in it. A batch of 64 MiB has less, but lists that overlap in it could ask for any length. */
const LARGEST_BYTES = 512 * 1024 * 1024;
/** From here on the call of `set` is worth its price. */
const LONG_COPY = 48;
