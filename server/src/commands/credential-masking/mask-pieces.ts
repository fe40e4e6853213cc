import { secretMask } from "../../lib/secret.ts";
import type { TextPiece } from "../submission/macros.ts";
import type { Span } from "./span.ts";

export interface MaskedText {
  /** The text as written, with a mask in place of each span. */
  shown: string;
  /** The macros that lie in a span, or whose value contains one. */
  macros: ReadonlySet<string>;
}

/**
 * `spans` are positions in the filled text, in ascending order. A macro whose value is only partly a credential stays
 * in the text: its name gives nothing away.
 */
export function maskPieces(pieces: readonly TextPiece[], spans: readonly Span[]): MaskedText {
  const macros = new Set<string>();
  const text = new ShownText();
  let start = 0;
  let next = 0;
  for (const { written, filled, macro } of pieces) {
    const end = start + filled.length;
    const cuts: Span[] = [];
    for (let span = spans[next]; span !== undefined && span.start < end; span = spans[next]) {
      cuts.push(span);
      if (span.end > end) break; // the span continues in the next piece
      next += 1;
    }
    if (macro !== null && cuts.length > 0) macros.add(macro);
    if (written === filled) {
      showBetween(text, filled, start, cuts);
    } else {
      const around = cuts.find((span) => span.start <= start && span.end >= end);
      if (around === undefined) text.show(written);
      else text.mask(around);
    }
    start = end;
  }
  return { shown: text.text, macros };
}

/** Shows ordinary text, except for the spans. `start` is its position in the whole text. */
function showBetween(text: ShownText, filled: string, start: number, cuts: readonly Span[]): void {
  let at = 0;
  for (const span of cuts) {
    text.show(filled.slice(at, Math.max(span.start - start, 0)));
    text.mask(span);
    at = span.end - start;
  }
  text.show(filled.slice(at));
}

/** A span that covers several pieces gets a single mask. */
class ShownText {
  text = "";
  #masked: Span | undefined;

  show(text: string): void {
    if (text === "") return;
    this.text += text;
    this.#masked = undefined;
  }

  mask(span: Span): void {
    if (span !== this.#masked) this.text += secretMask;
    this.#masked = span;
  }
}
