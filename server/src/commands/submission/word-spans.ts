/** Where the words of a shell-like text begin and end, by the grammar of lib/shell-words.ts, which has checked it. */
export interface Span {
  start: number;
  end: number;
}

export function wordSpans(text: string): Span[] {
  const spans: Span[] = [];
  // Blanks and joined lines between words; inside, quoted pieces, escapes and plain characters.
  const pattern = /(?:[ \t\n\r]|\\\n)+|(?:\\[^]|'[^']*'|"(?:\\[^]|[^"\\])*"|[^ \t\n\r\\'"])+/g;
  for (const match of text.matchAll(pattern)) {
    const isBlank = /^(?:[ \t\n\r]|\\\n)+$/.test(match[0]);
    if (!isBlank) spans.push({ start: match.index, end: match.index + match[0].length });
  }
  return spans;
}
