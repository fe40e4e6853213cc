import { Fault } from "../../lib/fault.ts";
import { secretMask } from "../../lib/secret.ts";
import { quoteWord, readWords } from "../../lib/shell-words.ts";
import { macroPieces, type TextPiece } from "../submission/macros.ts";
import { filledText, maskCopy, type Macros, type MaskedCopy } from "./mask-copy.ts";
import { secretSpans } from "./secret-spans.ts";
import type { Span } from "./span.ts";

/**
 * A copy as earlier versions stored it. The values of `encryptionKey` are sealed, in the order of their masks and with
 * their macros filled in. Other credentials and the macros are in the clear.
 */
export interface StoredCopy {
  args: string;
  macros: Macros;
  encryptionKeys: readonly string[];
}

export function maskStoredCopy({ args, macros, encryptionKeys }: StoredCopy): MaskedCopy {
  const pieces = storedPieces(args, macros, encryptionKeys);
  return maskCopy(pieces, macros, storedSpans(filledText(pieces)), macrosWithin(encryptionKeys, macros));
}

/** A text that cannot be split into words counts as secret as a whole; submission refuses such texts now. */
function storedSpans(text: string): Span[] {
  try {
    return secretSpans(text, "sub_command_args");
  } catch (error) {
    if (error instanceof Fault) return [{ start: 0, end: text.length }];
    throw error;
  }
}

/** The arguments, with the sealed values put back in place of their masks. */
function storedPieces(args: string, { values }: Macros, encryptionKeys: readonly string[]): TextPiece[] {
  const masks = masksOf(args);
  if (masks.length < encryptionKeys.length) throw new Error("fewer masks than sealed values");
  const pieces: TextPiece[] = [];
  let at = 0;
  for (const [index, { start, end }] of masks.entries()) {
    const key = encryptionKeys[index];
    if (key === undefined) break;
    pieces.push(...macroPieces(args.slice(at, start), values), {
      written: secretMask,
      filled: quoteWord(key),
      macro: null,
    });
    at = end;
  }
  return [...pieces, ...macroPieces(args.slice(at), values)];
}

/**
 * Finds the masks of earlier versions, which recognised only these spellings of the option, before macros were filled
 * in.
 */
function masksOf(args: string): Span[] {
  const masks: Span[] = [];
  let isValue = false;
  for (const { text, end } of readWords(args, "sub_command_args")) {
    const sign: string | undefined = isValue ? undefined : /^--?encryptionKey(=|$)/.exec(text)?.[1];
    const hasMask = args.endsWith(secretMask, end);
    if (hasMask && (isValue || sign === "=")) masks.push({ start: end - secretMask.length, end });
    isValue = sign === "";
  }
  return masks;
}

/** The macros that supplied a sealed value are not stored, so every macro whose value is part of it counts. */
function macrosWithin(encryptionKeys: readonly string[], { values }: Macros): ReadonlySet<string> {
  const isWithin = (value: string): boolean => value !== "" && encryptionKeys.some((key) => key.includes(value));
  return new Set([...values].filter(([, value]) => isWithin(value)).map(([name]) => name));
}
