import { expect, test } from "vitest";
import { streamedArray } from "./streamed-array.ts";

const LONG = "ä".repeat(100_000);

async function* later<T>(pieces: readonly T[]): AsyncGenerator<T> {
  yield* pieces;
}

test.each([
  ["no pieces", []],
  ["empty pieces", [[], []]],
  ["items before and after an empty piece", [["a"], [], ["b", null]]],
  ["items longer than one write", [[LONG, "b"], [LONG], [LONG, LONG]]],
  [
    "many small items",
    Array.from({ length: 50 }, (_, piece) => Array.from({ length: 500 }, (_, at) => ({ piece, at }))),
  ],
])("%s become one array", async (_, pieces: readonly (readonly unknown[])[]) => {
  for (const given of [pieces, later(pieces)]) {
    const { body } = await streamedArray(given);
    expect(JSON.parse((await Array.fromAsync(body)).join(""))).toEqual(pieces.flat());
  }
});

test("an error before the first item is thrown before anything is written", async () => {
  const broken = (async function* (): AsyncGenerator<string[]> {
    yield await Promise.reject<string[]>(new Error("no metastore"));
  })();
  await expect(streamedArray(broken)).rejects.toThrow("no metastore");
});

test("items are read only as fast as the client takes them", async () => {
  let reads = 0;
  const endless = (async function* () {
    for (;;) {
      reads += 1;
      yield [LONG];
    }
  })();
  const { body } = await streamedArray(endless);
  const text = body[Symbol.asyncIterator]();
  await text.next();
  await text.next();
  expect(reads).toBe(2);
  await text.return?.();
  expect(await endless.next()).toEqual({ done: true, value: undefined });
});
