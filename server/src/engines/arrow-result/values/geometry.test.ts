import { expect, test } from "vitest";
import { geometryText } from "./geometry-text.ts";

type Part = number | { readonly double: number } | { readonly byte: number };

function wkb(parts: readonly Part[], isLittle = true): Uint8Array {
  const view = new DataView(new ArrayBuffer(1000));
  let at = 0;
  for (const part of parts) {
    if (typeof part === "number") {
      view.setUint32(at, part, isLittle);
      at += 4;
    } else if ("double" in part) {
      view.setFloat64(at, part.double, isLittle);
      at += 8;
    } else view.setUint8(at++, part.byte);
  }
  return new Uint8Array(view.buffer, 0, at);
}

const little = { byte: 1 };
const doubles = (...values: number[]): Part[] => values.map((double) => ({ double }));

test.each<[string, Uint8Array]>([
  ["POINT(1 2.5)", wkb([little, 1, ...doubles(1, 2.5)])],
  ["POINT(1 -2)", wkb([{ byte: 0 }, 1, ...doubles(1, -2)], false)],
  ["POINT Z (1 2 3)", wkb([little, 1001, ...doubles(1, 2, 3)])],
  ["POINT M (1 2 3)", wkb([little, 2001, ...doubles(1, 2, 3)])],
  ["POINT ZM (1 2 3 4)", wkb([little, 3001, ...doubles(1, 2, 3, 4)])],
  ["POINT EMPTY", wkb([little, 1, ...doubles(NaN, NaN)])],
  ["LINESTRING(0 0,1 1)", wkb([little, 2, 2, ...doubles(0, 0, 1, 1)])],
  ["LINESTRING EMPTY", wkb([little, 2, 0])],
  ["POLYGON((0 0,1 0,0 1,0 0))", wkb([little, 3, 1, 4, ...doubles(0, 0, 1, 0, 0, 1, 0, 0)])],
  ["MULTIPOINT((1 2),EMPTY)", wkb([little, 4, 2, little, 1, ...doubles(1, 2), little, 1, ...doubles(NaN, NaN)])],
  ["MULTILINESTRING((0 0,1 1))", wkb([little, 5, 1, little, 2, 2, ...doubles(0, 0, 1, 1)])],
  [
    "GEOMETRYCOLLECTION(POINT(1 2),LINESTRING(0 0,1.0E20 1))",
    wkb([little, 7, 2, little, 1, ...doubles(1, 2), little, 2, 2, ...doubles(0, 0, 1e20, 1)]),
  ],
])("WKB is converted to %s", (text, bytes) => {
  expect(geometryText(bytes)).toBe(text);
});

test("bytes that are not WKB are an error", () => {
  expect(() => geometryText(wkb([little, 99]))).toThrow("unknown type");
  expect(() => geometryText(wkb([little, 2, 1000]))).toThrow("bounds");
});
