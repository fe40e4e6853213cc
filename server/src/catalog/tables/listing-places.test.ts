import { expect, test } from "vitest";
import { ListingPlaces } from "./listing-places.ts";

const client = (): AbortController => new AbortController();

test("an account runs a limited number of listings, a few more wait for their turn, and the rest are refused", async () => {
  const places = new ListingPlaces({ running: 2, waiting: 1 });
  const [one, two, three, four] = [client(), client(), client(), client()];
  await places.take(1, one.signal);
  await places.take(1, two.signal);
  let hasBegun = false;
  const third = places.take(1, three.signal).then(() => (hasBegun = true));
  await expect(places.take(1, four.signal)).rejects.toMatchObject({ code: "rate-limited", retryAfterSeconds: 5 });
  await places.take(2, four.signal);
  expect(hasBegun).toBe(false);
  one.abort();
  await third;
  const five = client();
  const fifth = places.take(1, five.signal);
  two.abort();
  three.abort();
  await fifth;
});

test("a client that disconnects while it waits takes no place", async () => {
  const places = new ListingPlaces({ running: 1, waiting: 2 });
  const [one, gone, last] = [client(), client(), client()];
  await places.take(1, one.signal);
  const left = places.take(1, gone.signal);
  const waiting = places.take(1, last.signal);
  gone.abort();
  await expect(left).rejects.toMatchObject({ code: "unavailable" });
  one.abort();
  await waiting;
  await expect(places.take(1, gone.signal)).rejects.toMatchObject({ code: "unavailable" });
});
