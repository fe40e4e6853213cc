import { expect, test } from "vitest";
import { ListingSlots } from "./listing-slots.ts";

const client = (): AbortController => new AbortController();

test("an account runs a limited number of listings, a few more wait for their turn, and the rest are refused", async () => {
  const slots = new ListingSlots({ running: 2, waiting: 1 });
  const [one, two, three, four] = [client(), client(), client(), client()];
  await slots.take(1, one.signal);
  await slots.take(1, two.signal);
  let hasBegun = false;
  const third = slots.take(1, three.signal).then(() => (hasBegun = true));
  await expect(slots.take(1, four.signal)).rejects.toMatchObject({ code: "rate-limited", retryAfterSeconds: 5 });
  await slots.take(2, four.signal);
  expect(hasBegun).toBe(false);
  one.abort();
  await third;
  const five = client();
  const fifth = slots.take(1, five.signal);
  two.abort();
  three.abort();
  await fifth;
});

test("a client that disconnects while it waits takes no slot", async () => {
  const slots = new ListingSlots({ running: 1, waiting: 2 });
  const [one, gone, last] = [client(), client(), client()];
  await slots.take(1, one.signal);
  const left = slots.take(1, gone.signal);
  const waiting = slots.take(1, last.signal);
  gone.abort();
  await expect(left).rejects.toMatchObject({ code: "unavailable" });
  one.abort();
  await waiting;
  await expect(slots.take(1, gone.signal)).rejects.toMatchObject({ code: "unavailable" });
});
