import fc from "fast-check";

/**
 * Strings of any Unicode characters. The unit `binary` of fast-check generates the same, but first builds a map of all
 * characters, which takes more than a second and 130 MB in each worker. The default unit adds names such as
 * `__proto__`.
 */
export function anyText(constraints: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.oneof(fc.string({ ...constraints, unit: character }), fc.string(constraints));
}

const SURROGATES = { first: 0xd800, count: 0x800 };
const character = fc
  .nat({ max: 0x10ffff - SURROGATES.count })
  .map((code) => String.fromCodePoint(code < SURROGATES.first ? code : code + SURROGATES.count));
