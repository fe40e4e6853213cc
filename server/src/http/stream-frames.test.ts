import { expect, test } from "vitest";
import { frameChunks } from "./stream-reply.ts";

/** Endless chunks that record whether the reader has closed them. */
function endless() {
  const state = { isOpen: true };
  const chunks: AsyncIterator<Uint8Array> = {
    next: () => Promise.resolve({ done: false, value: Buffer.from("x") }),
    return() {
      state.isOpen = false;
      return Promise.resolve({ done: true, value: undefined });
    },
  };
  return { state, chunks };
}

test("the chunks come between the given prefix and suffix", async () => {
  const chunks = [Buffer.from("b"), Buffer.from("c")].values();
  const inner: AsyncIterator<Uint8Array> = { next: () => Promise.resolve(chunks.next()) };
  const all = await Array.fromAsync(frameChunks(["a"], inner, ["d", "e"]));
  expect(all.map(String).join("")).toBe("abcde");
});

test.each([0, 1, 2])("the source is closed when the reader stops after %i chunks", async (count) => {
  const { state, chunks } = endless();
  const reading = frameChunks(["head"], chunks);
  for (let i = 0; i < count; i++) expect((await reading.next()).done).toBe(false);
  expect(state.isOpen).toBe(true);
  await reading.return?.();
  expect(state.isOpen).toBe(false);
  expect((await reading.next()).done).toBe(true);
});
