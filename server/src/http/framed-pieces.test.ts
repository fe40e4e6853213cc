import { expect, test } from "vitest";
import { framed } from "./framed-pieces.ts";

/** Endless pieces that record whether the reader has closed them. */
function endless() {
  const state = { isOpen: true };
  const pieces: AsyncIterator<Uint8Array> = {
    next: () => Promise.resolve({ done: false, value: Buffer.from("x") }),
    return() {
      state.isOpen = false;
      return Promise.resolve({ done: true, value: undefined });
    },
  };
  return { state, pieces };
}

test("the pieces come between the given prefix and suffix", async () => {
  const pieces = [Buffer.from("b"), Buffer.from("c")].values();
  const inner: AsyncIterator<Uint8Array> = { next: () => Promise.resolve(pieces.next()) };
  const all = await Array.fromAsync(framed(["a"], inner, ["d", "e"]));
  expect(all.map(String).join("")).toBe("abcde");
});

test.each([0, 1, 2])("the source is closed when the reader stops after %i pieces", async (count) => {
  const { state, pieces } = endless();
  const reading = framed(["head"], pieces);
  for (let i = 0; i < count; i++) expect((await reading.next()).done).toBe(false);
  expect(state.isOpen).toBe(true);
  await reading.return?.();
  expect(state.isOpen).toBe(false);
  expect((await reading.next()).done).toBe(true);
});
