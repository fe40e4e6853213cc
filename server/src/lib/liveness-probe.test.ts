import { pino } from "pino";
import { expect, test } from "vitest";
import { Answering, type AnsweringOptions } from "./answering.ts";

const never = new AbortController().signal;
const log = pino({ level: "silent" });

function answering(ask: AnsweringOptions["ask"], options: Partial<AnsweringOptions> = {}): Answering {
  return new Answering({ ask, goodForMs: 60_000, everyMs: 0, signal: never, log, ...options });
}

test("a server is silent only when no look had an answer, however soon each failed", async () => {
  let asked = 0;
  const ask = (): Promise<boolean> => {
    asked += 1;
    return Promise.resolve(false);
  };
  const beganAt = performance.now();
  expect(await answering(ask, { everyMs: 10 }).isSilent()).toBe(true);
  expect(asked).toBe(12);
  expect(performance.now() - beganAt).toBeGreaterThan(asked * 9);
});

test("one answer is enough, and good for a while", async () => {
  let asked = 0;
  const late = answering(() => Promise.resolve((asked += 1) === 12));
  expect(await late.isSilent()).toBe(false);
  expect(await late.isSilent()).toBe(false);
  expect(asked).toBe(12);
});

test("those who ask at the same time wait for the same looks", async () => {
  let asked = 0;
  const one = answering(() => Promise.resolve((asked += 1) === 0));
  expect(await Promise.all([one.isSilent(), one.isSilent()])).toEqual([true, true]);
  expect(asked).toBe(12);
});

test("what could not be asked is not silent", async () => {
  expect(await answering(() => Promise.reject(new Error("EMFILE"))).isSilent()).toBe(false);
});

test("a look ends when nobody wants to know any more", async () => {
  const gone = new AbortController();
  const looking = answering(() => Promise.resolve(false), { everyMs: 60_000, signal: gone.signal }).isSilent();
  gone.abort();
  expect(await looking).toBe(false);
});
