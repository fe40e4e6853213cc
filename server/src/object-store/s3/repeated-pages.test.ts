import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { RepeatedPages } from "./repeated-pages.ts";

/** The number of pages that were read before the listing was found to repeat itself; null: it ended. */
function pagesUntilFound(positions: Iterable<{ token: string; lastKey: string | undefined }>): number | null {
  const pages = new RepeatedPages();
  let count = 0;
  for (const position of positions) {
    count += 1;
    if (pages.isRepeated(position)) return count;
  }
  return null;
}

const length = fc.integer({ min: 1, max: 100 });

describe("a listing", () => {
  test.each(["token", "lastKey"])("that repeats a %s is found after few rounds", (repeated) => {
    fc.assert(
      fc.property(fc.nat(100), length, (before, cycle) => {
        const positions = Array.from({ length: 4 * (before + cycle) + 2 }, (_, at) => {
          const position = String(at < before ? at : before + ((at - before) % cycle));
          const other = `page ${at}`;
          return repeated === "token" ? { token: position, lastKey: undefined } : { token: other, lastKey: position };
        });
        expect(pagesUntilFound(positions)).not.toBeNull();
      }),
    );
  });

  test("that repeats nothing is read to its end, even if pages are empty", () => {
    fc.assert(
      fc.property(length, fc.boolean(), (pages, isEmpty) => {
        const positions = Array.from({ length: pages }, (_, at) => {
          return { token: `t${at}`, lastKey: isEmpty ? undefined : `k${at}` };
        });
        expect(pagesUntilFound(positions)).toBeNull();
      }),
    );
  });
});
