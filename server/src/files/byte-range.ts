/** The range of a file that a request asks for: the first and the last byte, or the last so many bytes. */
export type AskedRange = { readonly first: number; readonly last: number | undefined } | { readonly suffix: number };

const RANGE = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i;

/** Undefined: the whole file, also for what is not a range, and for several ranges. */
export function askedRange(sent: string | undefined): AskedRange | undefined {
  const [, first = "", last = ""] = RANGE.exec(sent ?? "") ?? [];
  if (first === "") return last === "" ? undefined : { suffix: Number(last) };
  if (last === "") return { first: Number(first), last: undefined };
  return Number(last) < Number(first) ? undefined : { first: Number(first), last: Number(last) };
}

export interface FoundRange {
  readonly offset: number;
  readonly length: number;
}

/** Undefined: the file has no such bytes. */
export function rangeIn(size: number, asked: AskedRange): FoundRange | undefined {
  if ("suffix" in asked) {
    const length = Math.min(asked.suffix, size);
    return length === 0 ? undefined : { offset: size - length, length };
  }
  if (asked.first >= size) return undefined;
  const last = Math.min(asked.last ?? Infinity, size - 1);
  return { offset: asked.first, length: last - asked.first + 1 };
}
