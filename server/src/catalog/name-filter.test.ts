import { expect, test } from "vitest";
import { filterNames } from "./name-filter.ts";

const never = new AbortController().signal;
/** Takes hundreds of steps for each character of a name. */
const SLOW = `${"(a|b|c|d|e|f)?".repeat(30)}x`;
const names = Array.from({ length: 20_000 }, (_, at) => `${"abcdef".repeat(20)}_${at}`);

test("a filter matches any part of a name, ignores case and keeps the order", async () => {
  expect(await filterNames(["a_Orders", "b", "ORDERS"], "orders", never)).toEqual(["a_Orders", "ORDERS"]);
});

test("a filter that exceeds its time limit is refused", async () => {
  await expect(filterNames(names, SLOW, never, 0)).rejects.toMatchObject({
    code: "invalid",
    publicMessage: expect.stringMatching(/^filter takes too long/),
  });
});

test("filtering stops when the client disconnects", async () => {
  const client = new AbortController();
  const filtering = filterNames(names, SLOW, client.signal, 60_000);
  client.abort();
  await expect(filtering).rejects.toMatchObject({ code: "unavailable" });
});

test("a filter whose repetitions expand to a large expression is refused", async () => {
  await expect(filterNames([], String.raw`(\w{600})(\w{600})`, never)).rejects.toThrow(/^filter is too large/);
});
