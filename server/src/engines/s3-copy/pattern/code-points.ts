/** A set of code points: ranges in ascending order that neither overlap nor touch. */
export type CodePoints = readonly (readonly [first: number, last: number])[];

export const LAST_CODE_POINT = 0x10ffff;

export function unionOf(sets: readonly CodePoints[]): CodePoints {
  const merged: [number, number][] = [];
  for (const [first, last] of sets.flat().toSorted((a, b) => a[0] - b[0])) {
    const previous = merged.at(-1);
    if (previous !== undefined && first <= previous[1] + 1) previous[1] = Math.max(previous[1], last);
    else merged.push([first, last]);
  }
  return merged;
}

export function complementOf(set: CodePoints): CodePoints {
  const starts = [0, ...set.map(([, last]) => last + 1)];
  const ends = [...set.map(([first]) => first - 1), LAST_CODE_POINT];
  return starts.map((start, at): [number, number] => [start, ends[at] ?? -1]).filter(([first, last]) => first <= last);
}

export function intersectionOf(sets: readonly CodePoints[]): CodePoints {
  return complementOf(unionOf(sets.map(complementOf)));
}

/** The set of the characters and ranges in a text such as `a-z_`; a `-` comes last. */
export function codePointsOf(text: string): CodePoints {
  const ranges = [...text.matchAll(/(.)(?:-(.))?/gsu)].map(([, first = "", last = first]): [number, number] => [
    first.codePointAt(0) ?? 0,
    last.codePointAt(0) ?? 0,
  ]);
  return unionOf([ranges]);
}

/** As the inside of a character class of RE2. */
export function formatCodePoints(set: CodePoints): string {
  return set.map(([first, last]) => (first === last ? hex(first) : `${hex(first)}-${hex(last)}`)).join("");
}

function hex(codePoint: number): string {
  const text = String.fromCodePoint(codePoint);
  return /[A-Za-z0-9_/=]/.test(text) ? text : `\\x{${codePoint.toString(16)}}`;
}
