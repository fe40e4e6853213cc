/** Compares texts by the bytes of their UTF-8 form, as object stores sort keys. `<` compares UTF-16. */
export function compareUtf8(one: string, two: string): number {
  const shared = Math.min(one.length, two.length);
  for (let at = 0; at < shared; at += 1) {
    const [a, b] = [one.charCodeAt(at), two.charCodeAt(at)];
    if (a !== b) return inUtf8Order(a) - inUtf8Order(b);
  }
  return one.length - two.length;
}

/** Half of a UTF-16 pair, which stands for a code point above U+FFFF. */
export function isSurrogate(codeUnit: number): boolean {
  return codeUnit >= 0xd800 && codeUnit <= 0xdfff;
}

/** Surrogates stand for code points above all others. */
function inUtf8Order(codeUnit: number): number {
  return isSurrogate(codeUnit) ? codeUnit + 0x10000 : codeUnit;
}
