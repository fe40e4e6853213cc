/** A part of a text: the position of its first character, and the position after its last. */
export interface Span {
  start: number;
  end: number;
}

/** Sorts the spans and merges those that overlap. */
export function mergedSpans(spans: readonly Span[]): Span[] {
  const merged: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const last = merged.at(-1);
    if (last !== undefined && span.start < last.end) last.end = Math.max(last.end, span.end);
    else merged.push({ ...span });
  }
  return merged;
}
