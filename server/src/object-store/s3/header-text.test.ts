import fc from "fast-check";
import { expect, test } from "vitest";
import { encodeHeaderWords, readHeaderText, writeHeaderText } from "./header-text.ts";

const text = fc.string({ unit: "grapheme" }).filter((each) => !/\p{Cc}/u.test(each) && !each.includes("=?"));

test("every text is read back as it was written, in bytes and in encoded words", () => {
  fc.assert(
    fc.property(text, (each) => {
      expect(readHeaderText(writeHeaderText(each))).toBe(each);
      expect(readHeaderText(encodeHeaderWords(each))).toBe(each);
      expect(encodeHeaderWords(each)).toMatch(/^[ -~]*$/);
    }),
  );
});

test.each([
  ["=?UTF-8?Q?=C3=BC_b?=", "ü b"],
  ["=?utf-8?b?w7w=?= =?utf-8?b?w7w=?=", "üü"],
  ["a =?UTF-8?B?w7w=?= b", "a ü b"],
  ["=?iso-8859-1?Q?=FC?=", "=?iso-8859-1?Q?=FC?="],
  ["\u00fc", "\u00fc"],
])("%j of a server is read as %j", (value, expected) => {
  expect(readHeaderText(value)).toBe(expected);
});

test.each(["a\nb", "a\0", "\ud800"])("%j cannot be sent", (value) => {
  expect(() => writeHeaderText(value)).toThrow("without control characters");
  expect(() => encodeHeaderWords(value)).toThrow("without control characters");
});
