import * as fc from "fast-check";
import { expect, test } from "vitest";
import { compareUtf8 } from "./compare-utf8.ts";

const text = fc.string({ unit: "binary", maxLength: 40 });

test("texts are compared by their bytes in UTF-8", () => {
  fc.assert(
    fc.property(text, text, (one, two) => {
      expect(Math.sign(compareUtf8(one, two))).toBe(Buffer.compare(Buffer.from(one), Buffer.from(two)));
    }),
  );
  expect(compareUtf8("\u{1f600}", "\uffee")).toBeGreaterThan(0);
});
