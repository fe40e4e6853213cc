import { expect, test } from "vitest";
import { heldPieces } from "./held-pieces.ts";

/** Records which answers are held. */
function pieces(signal = new AbortController().signal) {
  const held = new Set<number>();
  const options = { pieceSize: 1, ahead: 2, signal };
  const all = heldPieces([1, 2, 3, 4], options, async ([item = 0], keep) => {
    held.add(item);
    keep({ release: () => held.delete(item) });
    return item;
  });
  return { held, all };
}

test("a piece is held until the reader takes the next one", async () => {
  const { held, all } = pieces();
  expect(await all.next()).toEqual({ done: false, value: 1 });
  expect([...held]).toEqual([1, 2]);
  expect(await all.next()).toEqual({ done: false, value: 2 });
  expect([...held]).toEqual([2, 3]);
  expect(await Array.fromAsync(all)).toEqual([3, 4]);
  expect(held.size).toBe(0);
});

test("nothing is held for a reader that ends early or is aborted", async () => {
  const early = pieces();
  for await (const item of early.all) if (item === 1) break;
  expect(early.held.size).toBe(0);
  const gone = new AbortController();
  const stuck = pieces(gone.signal);
  await stuck.all.next();
  expect(stuck.held.size).toBe(2);
  gone.abort();
  expect(stuck.held.size).toBe(0);
});
