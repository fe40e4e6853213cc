import { crc32 } from "node:zlib";
import { ObjectStoreError } from "../../../object-store/object-store-error.ts";
import { combineCrc32 } from "../../../object-store/s3/combine-crc32.ts";
import type { SourceFile } from "../plan/planned-output.ts";
import type { SourceReader } from "../storage/storage.ts";

/**
 * Compares a source that is read in ranges with the checksum that its store has for the whole. The ranges may arrive in any
 * order; only those that cannot be joined yet are held.
 */
export class RangedCrc32 {
  readonly source: SourceFile;
  readonly #expected: Promise<number | null>;
  readonly #waiting = new Map<number, { readonly crc: number; readonly length: number }>();
  /** The checksum of all bytes before `#end`. */
  #crc = 0;
  #end = 0;

  constructor(source: SourceFile, from: Pick<SourceReader, "crc32Of">) {
    this.source = source;
    this.#expected = from.crc32Of?.(source) ?? Promise.resolve(null);
    this.#expected.catch(() => undefined); // thrown by `add`
  }

  /** Throws with the last range if the contents do not have the expected checksum. */
  async add(offset: number, bytes: Buffer): Promise<void> {
    const expected = await this.#expected;
    if (expected === null) return;
    this.#waiting.set(offset, { crc: crc32(bytes), length: bytes.length });
    for (let next = this.#waiting.get(this.#end); next !== undefined; next = this.#waiting.get(this.#end)) {
      this.#waiting.delete(this.#end);
      this.#crc = combineCrc32(this.#crc, next.crc, next.length);
      this.#end += next.length;
    }
    if (this.#end < this.source.size || this.#crc === expected) return;
    throw new ObjectStoreError("bad-response", `${this.source.uri}: the contents do not match the checksum`);
  }
}
