import { describe, expect, test } from "vitest";
import { inPieces, openAhead } from "./open-ahead.ts";

async function* pieces<T>(...all: readonly (readonly T[])[]): AsyncGenerator<readonly T[]> {
  yield* all;
}

async function all<T>(given: AsyncIterable<readonly T[]>): Promise<T[]> {
  return (await Array.fromAsync(given)).flat();
}

describe("streams opened ahead", () => {
  test("are yielded in the order of the items, however long each takes, and only a limited number is open", async () => {
    let [open, most] = [0, 0];
    const slowFirst = async function* (item: number): AsyncGenerator<readonly string[]> {
      open += 1;
      most = Math.max(most, open);
      for (let turn = item; turn < 10; turn += 1) await Promise.resolve();
      yield [`${item}a`];
      yield [`${item}b`, `${item}c`];
      open -= 1;
    };
    const items = Array.from({ length: 20 }, (_, item) => item);
    const got = await all(openAhead(pieces(items.slice(0, 3), [], items.slice(3)), 4, slowFirst));
    expect(got).toEqual(items.flatMap((item) => [`${item}a`, `${item}b`, `${item}c`]));
    expect([open, most]).toEqual([0, 4]);
  });

  test("fail in their turn, and then all open streams are closed", async () => {
    const closed: number[] = [];
    const open = async function* (item: number): AsyncGenerator<readonly number[]> {
      try {
        yield [item];
        if (item === 2) throw new Error("no 2");
        yield [item];
      } finally {
        closed.push(item);
      }
    };
    const got: number[] = [];
    await expect(async () => {
      for await (const piece of openAhead(pieces([1, 2, 3, 4]), 3, open)) got.push(...piece);
    }).rejects.toThrow("no 2");
    expect(got).toEqual([1, 1, 2]);
    expect(closed.toSorted((a, b) => a - b)).toEqual([1, 2, 3, 4]);
  });

  test("are closed when the reader stops", async () => {
    const closed: number[] = [];
    const open = async function* (item: number): AsyncGenerator<readonly number[]> {
      try {
        for (;;) yield [item];
      } finally {
        closed.push(item);
      }
    };
    for await (const piece of openAhead(pieces([1, 2, 3]), 2, open)) if (piece[0] === 1) break;
    expect(closed).toEqual([1, 2]);
  });
});

test("pieces have the requested size, and the last holds the rest", async () => {
  const given = pieces([1], [], [2, 3, 4, 5, 6], [7]);
  expect(await Array.fromAsync(inPieces(given, 3))).toEqual([[1, 2, 3], [4, 5, 6], [7]]);
});
