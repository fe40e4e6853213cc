const HASH_BITS = 14;
const MIN_MATCH = 4;
/** How quickly the search gives up on data without repetitions: one more byte is skipped per this many literals. */
const SKIP_SHIFT = 5;

/**
 * Divides a block into literals and copies of earlier bytes, for LZO and snappy alike. It is greedy and looks at one
 * candidate per position: fast rather than thorough, as both formats intend. The memory is used again for every block.
 */
export class MatchFinder {
  /** Position + 1 of the last occurrence of a hash, or 0. */
  readonly #positions = new Int32Array(1 << HASH_BITS);
  #copies = new Int32Array(0);
  #count = 0;

  /** The copies in order: (number of literals before it, length ≥ 4, distance) each. Valid until the next block. */
  get copies(): Int32Array {
    return this.#copies.subarray(0, this.#count);
  }

  /** Returns the number of literals after the last copy. */
  search(input: Uint8Array, maxDistance: number): number {
    const positions = this.#positions.fill(0);
    const most = 3 * Math.ceil(input.length / MIN_MATCH);
    if (this.#copies.length < most) this.#copies = new Int32Array(most);
    const copies = this.#copies;
    const words = new DataView(input.buffer, input.byteOffset, input.length);
    const last = input.length - MIN_MATCH;
    let count = 0;
    let anchor = 0; // the first literal
    let at = 0;
    while (at <= last) {
      const word = words.getInt32(at, true);
      const hash = Math.imul(word, 0x9e3779b1) >>> (32 - HASH_BITS);
      const candidate = (positions[hash] ?? 0) - 1;
      positions[hash] = at + 1;
      if (candidate < 0 || at - candidate > maxDistance || words.getInt32(candidate, true) !== word) {
        at += 1 + ((at - anchor) >> SKIP_SHIFT);
        continue;
      }
      let end = at + MIN_MATCH;
      for (let from = candidate + MIN_MATCH; end < input.length && input[from] === input[end]; from++) end++;
      copies[count++] = at - anchor;
      copies[count++] = end - at;
      copies[count++] = at - candidate;
      at = end;
      anchor = end;
    }
    this.#count = count;
    return input.length - anchor;
  }
}
