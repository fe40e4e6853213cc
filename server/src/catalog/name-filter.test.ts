import { expect, test } from "vitest";
import { filterNames } from "./name-filter.ts";

const never = new AbortController().signal;
/** Every name costs hundreds of steps a character. */
const SLOW = `${"(a|b|c|d|e|f)?".repeat(30)}x`;
const names = Array.from({ length: 20_000 }, (_, at) => `${"abcdef".repeat(20)}_${at}`);

test("names are found by a part of them, in any case and in their order", async () => {
  expect(await filterNames(["a_Orders", "b", "ORDERS"], "orders", never)).toEqual(["a_Orders", "ORDERS"]);
});

test("a filter that takes longer than it may is refused", async () => {
  await expect(filterNames(names, SLOW, never, 0)).rejects.toMatchObject({
    code: "invalid",
    publicMessage: expect.stringMatching(/^filter takes too long/),
  });
});

test("it ends when nobody waits for it any more", async () => {
  const client = new AbortController();
  const filtering = filterNames(names, SLOW, client.signal, 60_000);
  client.abort();
  await expect(filtering).rejects.toMatchObject({ code: "unavailable" });
});

test("one that is large once its repetitions are written out is refused", async () => {
  await expect(filterNames([], String.raw`(\w{600})(\w{600})`, never)).rejects.toThrow(/^filter is too large/);
});
