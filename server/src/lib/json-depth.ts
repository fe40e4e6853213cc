const quote = 0x22;
const backslash = 0x5c;
/** `[` and `{` differ in this bit only, and so do `]` and `}`. */
const bracketBit = 0x20;
const opening = 0x5b | bracketBit;
const closing = 0x5d | bracketBit;

/** Whether a JSON text nests arrays and objects deeper than `levels`. The result is undefined for invalid JSON. */
export function isNestedDeeper(text: Uint8Array, levels: number): boolean {
  let depth = 0;
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const byte = text[at] ?? 0;
    if (isQuoted) {
      if (byte === backslash) at += 1;
      else if (byte === quote) isQuoted = false;
    } else if (byte === quote) isQuoted = true;
    else if ((byte | bracketBit) === opening) {
      depth += 1;
      if (depth > levels) return true;
    } else if ((byte | bracketBit) === closing) depth -= 1;
  }
  return false;
}
