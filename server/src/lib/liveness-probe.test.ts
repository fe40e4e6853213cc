import { pino } from "pino";
import { expect, test } from "vitest";
import { LivenessProbe, type LivenessProbeOptions } from "./liveness-probe.ts";

const never = new AbortController().signal;
const log = pino({ level: "silent" });

function probe(request: LivenessProbeOptions["request"], options: Partial<LivenessProbeOptions> = {}): LivenessProbe {
  return new LivenessProbe({ request, goodForMs: 60_000, everyMs: 0, signal: never, log, ...options });
}

test("a server is silent only when all requests in a row were unanswered, however soon each failed", async () => {
  let asked = 0;
  const request = (): Promise<boolean> => {
    asked += 1;
    return Promise.resolve(false);
  };
  const beganAt = performance.now();
  expect(await probe(request, { everyMs: 10 }).isSilent()).toBe(true);
  expect(asked).toBe(12);
  expect(performance.now() - beganAt).toBeGreaterThan(asked * 9);
});

test("one answer is enough, and no request follows it for a while", async () => {
  let asked = 0;
  const late = probe(() => Promise.resolve((asked += 1) === 12));
  expect(await late.isSilent()).toBe(false);
  expect(await late.isSilent()).toBe(false);
  expect(asked).toBe(12);
});

test("concurrent callers share one probe", async () => {
  let asked = 0;
  const one = probe(() => Promise.resolve((asked += 1) === 0));
  expect(await Promise.all([one.isSilent(), one.isSilent()])).toEqual([true, true]);
  expect(asked).toBe(12);
});

test("a request that cannot be sent does not make the server silent", async () => {
  expect(await probe(() => Promise.reject(new Error("EMFILE"))).isSilent()).toBe(false);
});

test("a probe ends when its result is not needed any more", async () => {
  const removed = new AbortController();
  const probing = probe(() => Promise.resolve(false), { everyMs: 60_000, signal: removed.signal }).isSilent();
  removed.abort();
  expect(await probing).toBe(false);
});
