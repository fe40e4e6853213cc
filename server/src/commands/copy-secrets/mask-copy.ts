import type { GivenMacro, MacroValues, TextPiece } from "../submission/macros.ts";
import { maskPieces } from "./mask-pieces.ts";
import { maskedMacros, maskedValues, secretMacros } from "./secret-macros.ts";
import type { Span } from "./span.ts";

/** A copy as it may be stored and shown. */
export interface MaskedCopy {
  shown: string;
  /**
   * The text that runs, to be sealed. Null: there are no credentials, so `shown` and the macros are enough to run it.
   */
  sealed: string | null;
  macros: readonly GivenMacro[];
  values: MacroValues;
}

export interface Macros {
  given: readonly GivenMacro[];
  values: MacroValues;
}

/** `spans`: the credentials in the text with its macros filled in. */
export function maskCopy(
  pieces: readonly TextPiece[],
  { given, values }: Macros,
  spans: readonly Span[],
  knownMacros: ReadonlySet<string> = new Set(),
): MaskedCopy {
  const { shown, macros } = maskPieces(pieces, spans);
  const secret = secretMacros(given, macros.union(knownMacros));
  return {
    shown,
    sealed: spans.length === 0 ? null : filledText(pieces),
    macros: maskedMacros(given, secret),
    values: maskedValues(values, secret),
  };
}

export function filledText(pieces: readonly TextPiece[]): string {
  return pieces.map(({ filled }) => filled).join("");
}
