import * as fc from "fast-check";
import { expect, test } from "vitest";
import { CopyMeter } from "./copy-progress.ts";

type Step =
  | { readonly kind: "plan" | "copy"; readonly files: number; readonly bytes: number }
  | { readonly kind: "listed" };

const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constantFrom("plan", "copy"), files: fc.nat(5), bytes: fc.nat(1000) }),
  fc.constant({ kind: "listed" as const }),
);

function meter(): CopyMeter {
  return new CopyMeter(
    () => undefined,
    () => undefined,
    () => 3,
  );
}

test("progress never falls, whatever the listing still finds, and stays below 100", () => {
  fc.assert(
    fc.property(fc.array(step), (steps) => {
      const measured = meter();
      let previous = 0;
      for (const each of steps) {
        if (each.kind === "plan") measured.plan(each.files, each.bytes);
        else if (each.kind === "listed") measured.endListing();
        else {
          measured.files += each.files;
          measured.bytes += each.bytes;
        }
        const { percent } = measured.progress();
        expect(percent).toBeGreaterThanOrEqual(previous);
        expect(percent).toBeLessThan(100);
        previous = percent;
      }
      measured.stop();
    }),
  );
});

test("progress is measured in bytes, and at most half while the listing runs", () => {
  const measured = meter();
  measured.plan(2, 1000);
  measured.files = 1;
  measured.bytes = 100;
  expect(measured.progress().percent).toBe(4);
  measured.bytes = 1000;
  expect(measured.progress().percent).toBe(49);
  measured.plan(2, 1000);
  expect(measured.progress().percent).toBe(49);
  measured.endListing();
  measured.bytes = 1500;
  expect(measured.progress()).toEqual({ percent: 74, files: 1, totalFiles: 4, bytes: 1500 });
  measured.stop();
});

test("the summary has files, bytes, rate and repeated requests", () => {
  const measured = meter();
  measured.plan(5, 4 * 1024 * 1024);
  measured.files = 2;
  measured.bytes = 3 * 1024 * 1024;
  expect(measured.summary()).toMatch(/^2 of at least 5 files, 3\.0 MiB, [\d.]+ [KMGT]?i?B\/s, 3 repeated requests$/);
  measured.endListing();
  expect(measured.summary()).toMatch(/^2 of 5 files, /);
  measured.stop();
});
