import { isUtf8 } from "node:buffer";
import { QUOTE } from "./ascii.ts";
import type { ByteSink } from "./byte-sink.ts";
import { bytesOf, offsetsOf, type ColumnData, type Style, type ValueWriter } from "./value-writer.ts";

const BACKSLASH = 0x5c;

/**
 * Writes strings, and binary values as text. Bytes that are not UTF-8 become U+FFFD, as in Java. Values are decoded one
 * by one only if the check of the whole batch, which is fast, fails.
 */
export class StringWriter implements ValueWriter {
  readonly #isLarge: boolean;
  readonly #style: Style;
  #bytes: Uint8Array = new Uint8Array(0);
  #offsets: Int32Array = new Int32Array(1);
  #isValidUtf8 = true;

  constructor(style: Style, isLarge: boolean) {
    this.#style = style;
    this.#isLarge = isLarge;
  }

  load(data: ColumnData): void {
    this.#offsets = offsetsOf(data, this.#isLarge);
    this.#bytes = bytesOf(data.values).subarray(0, this.#offsets[data.length] ?? 0);
    this.#isValidUtf8 = isUtf8(this.#bytes) && startAtCharacters(this.#bytes, this.#offsets, data.length);
  }

  write(sink: ByteSink, index: number): void {
    const [start, end] = [this.#offsets[index] ?? 0, this.#offsets[index + 1] ?? 0];
    if (!this.#isValidUtf8) {
      const valid = Buffer.from(
        Buffer.from(this.#bytes.buffer, this.#bytes.byteOffset + start, end - start).toString(),
      );
      this.#put(sink, valid, 0, valid.length);
    } else this.#put(sink, this.#bytes, start, end);
  }

  #put(sink: ByteSink, bytes: Uint8Array, start: number, end: number): void {
    if (this.#style === "text") {
      sink.copy(bytes, start, end);
      return;
    }
    sink.byte(QUOTE);
    if (this.#style === "nested") sink.copy(bytes, start, end);
    else writeEscaped(sink, bytes, start, end);
    sink.byte(QUOTE);
  }
}

/** If the whole buffer is valid UTF-8 and no value starts inside a character, every value is valid. */
function startAtCharacters(bytes: Uint8Array, offsets: Int32Array, count: number): boolean {
  for (let i = 0; i < count; i++) {
    const at = offsets[i] ?? 0;
    if (at < bytes.length && ((bytes[at] ?? 0) & 0xc0) === 0x80) return false;
  }
  return true;
}

/** Writes the content of a JSON string. */
export function writeEscaped(sink: ByteSink, bytes: Uint8Array, start: number, end: number): void {
  sink.reserve((end - start) * 6);
  const out = sink.bytes;
  let at = sink.at;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] ?? 0;
    const letter = ESCAPE_LETTERS[byte] ?? 0;
    if (letter === 0) out[at++] = byte;
    else {
      out[at++] = BACKSLASH;
      out[at++] = letter;
      if (letter !== LETTER_U) continue;
      for (const shift of [12, 8, 4, 0]) out[at++] = HEX_DIGITS.charCodeAt((byte >> shift) & 15);
    }
  }
  sink.at = at;
}

const LETTER_U = 0x75;
const HEX_DIGITS = "0123456789abcdef";
/** By byte: the letter after the backslash, or 0 if the byte needs no escape. */
const ESCAPE_LETTERS = Uint8Array.from({ length: 256 }, (_, code) => {
  const inside = JSON.stringify(String.fromCharCode(code)).slice(1, -1);
  return inside.length === 1 ? 0 : inside.charCodeAt(1);
});

export class BytesReader {
  readonly #isLarge: boolean;
  #bytes: Uint8Array = new Uint8Array(0);
  #offsets: Int32Array = new Int32Array(1);

  constructor(isLarge: boolean) {
    this.#isLarge = isLarge;
  }

  load(data: ColumnData): void {
    this.#offsets = offsetsOf(data, this.#isLarge);
    this.#bytes = bytesOf(data.values);
  }

  at(index: number): Uint8Array {
    return this.#bytes.subarray(this.#offsets[index], this.#offsets[index + 1]);
  }
}

export class Base64Writer implements ValueWriter {
  readonly #values: BytesReader;

  constructor(isLarge: boolean) {
    this.#values = new BytesReader(isLarge);
  }

  load(data: ColumnData): void {
    this.#values.load(data);
  }

  write(sink: ByteSink, index: number): void {
    const { buffer, byteOffset, byteLength } = this.#values.at(index);
    sink.text(`"${Buffer.from(buffer, byteOffset, byteLength).toString("base64")}"`);
  }
}
