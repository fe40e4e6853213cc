/**
 * Chooses keys at which the listing of a range is split. A bad choice only wastes requests: the caller never relies on it.
 */
import { isSurrogate } from "../../lib/compare-utf8.ts";

export interface OpenRange {
  /** The last key that was listed. */
  readonly low: string;
  /** No key of the range comes after this text; null if not known. */
  readonly high: string | null;
  /** The length of the prefix that all keys share. */
  readonly prefixLength: number;
  /** No character after this position is raised, because the step would be too small. */
  readonly position: number;
}

export interface SplitPoint {
  readonly after: string;
  /** The position that the point raises. */
  readonly position: number;
}

/**
 * If both ends are known, the point lies between the first characters in which they differ. Otherwise one character of
 * `low` is raised: further left is a larger step, and no key comes after a step that is too large. So halving finds the
 * leftmost useful position.
 */
export function splitPoint({ low, high, prefixLength, position }: OpenRange): SplitPoint | null {
  let first = prefixLength;
  if (high !== null && high <= low) return null;
  if (high !== null) {
    const at = commonLength(low, high);
    const between = middle(at < low.length ? low.charCodeAt(at) : 0x1f, high.charCodeAt(at));
    if (between !== null) return { after: high.slice(0, at) + between, position: at };
    if (high.length > at + 1) return { after: high.slice(0, at + 1), position: at };
    first = at + 1;
  }
  const last = low.length - 1;
  if (first > last) return null;
  const end = Math.max(first, Math.min(position, last));
  const at = Math.floor((first + end) / 2);
  const raised = raise(low.charCodeAt(at));
  return raised === null ? null : { after: low.slice(0, at) + raised, position: at };
}

export function commonLength(one: string, other: string): number {
  let length = 0;
  while (length < one.length && length < other.length && one[length] === other[length]) length += 1;
  return length;
}

/** Null if there is no character between them. Surrogates are not characters. */
function middle(low: number, high: number): string | null {
  const code = Math.floor((low + high) / 2);
  return high - low < 2 || isSurrogate(code) || isSurrogate(low) || isSurrogate(high)
    ? null
    : String.fromCharCode(code);
}

/** Digits and letters are raised to the middle of what is left of their kind, others by one. */
function raise(code: number): string | null {
  const top = lastOfKind.find((last) => code <= last && code > last - kindSize(last)) ?? code;
  const raised = Math.max(code + 1, Math.ceil((code + top) / 2));
  return isSurrogate(code) || isSurrogate(raised) || raised > 0xfffd ? null : String.fromCharCode(raised);
}

const lastOfKind = ["9", "Z", "z"].map((text) => text.charCodeAt(0));

function kindSize(last: number): number {
  return last === 0x39 ? 10 : 26;
}
