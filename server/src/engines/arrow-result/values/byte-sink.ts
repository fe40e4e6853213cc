/**
 * A growing buffer for text. Writers call `reserve` for as much as they may write and then set `bytes` and `at`
 * themselves, because a call per byte would be slower.
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

  /** For short ASCII text. */
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

  /** The text from offset `from` on. */
  toText(from: number): string {
    return Buffer.from(this.bytes.buffer, from, this.at - from).toString("utf8");
  }

  #grow(needed: number): void {
    if (needed > MAX_BYTES) throw new Error(`a row has more than ${MAX_BYTES} bytes of text`);
    const bytes = new Uint8Array(Math.min(MAX_BYTES, Math.max(needed, this.bytes.length * 2)));
    bytes.set(this.bytes.subarray(0, this.at));
    this.bytes = bytes;
  }
}

const encoder = new TextEncoder();
/** No honest batch of 64 MiB expands to this, but overlapping lists in a forged one could have any length. */
const MAX_BYTES = 512 * 1024 * 1024;
/** Longer copies are faster with `set`. */
const LONG_COPY = 48;
