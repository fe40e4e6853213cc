import { expect, test } from "vitest";
import { streamedArray } from "./streamed-array.ts";

const LONG = "ä".repeat(100_000);

async function* later<T>(pieces: readonly T[]): AsyncGenerator<T> {
  yield* pieces;
}

test.each([
  ["no pieces", []],
  ["pieces with nothing in them", [[], []]],
  ["items before and behind such a piece", [["a"], [], ["b", null]]],
  ["items that are longer than what is written at once", [[LONG, "b"], [LONG], [LONG, LONG]]],
  [
    "many small items",
    Array.from({ length: 50 }, (_, piece) => Array.from({ length: 500 }, (_, at) => ({ piece, at }))),
  ],
])("%s are one array", async (_, pieces: readonly (readonly unknown[])[]) => {
  for (const given of [pieces, later(pieces)]) {
    const { body } = await streamedArray(given);
    expect(JSON.parse((await Array.fromAsync(body)).join(""))).toEqual(pieces.flat());
  }
});

test("what cannot be read at all fails before anything is written", async () => {
  const broken = (async function* (): AsyncGenerator<string[]> {
    yield await Promise.reject<string[]>(new Error("no metastore"));
  })();
  await expect(streamedArray(broken)).rejects.toThrow("no metastore");
});

test("nothing is read that nobody takes", async () => {
  let asked = 0;
  const endless = (async function* () {
    for (;;) {
      asked += 1;
      yield [LONG];
    }
  })();
  const { body } = await streamedArray(endless);
  const text = body[Symbol.asyncIterator]();
  await text.next();
  await text.next();
  expect(asked).toBe(2);
  await text.return?.();
  expect(await endless.next()).toEqual({ done: true, value: undefined });
});
