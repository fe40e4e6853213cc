import { expect, test } from "vitest";
import { openCappedLog } from "./capped-log.ts";
import { Measurement } from "./measurement.ts";
import { parseSpec } from "./protocol.ts";
import { detectForkFailure } from "./result-files.ts";
import { timeoutAfterMs } from "./watch-for-end.ts";

test.each([
  [{ timeoutSeconds: 80, checkSeconds: 60, elapsedSeconds: 0 }, 120_000],
  [{ timeoutSeconds: 120, checkSeconds: 60, elapsedSeconds: 0 }, 120_000],
  [{ timeoutSeconds: 121, checkSeconds: 60, elapsedSeconds: 0 }, 180_000],
  [{ timeoutSeconds: 1, checkSeconds: 60, elapsedSeconds: 0 }, 60_000],
  [{ timeoutSeconds: 80, checkSeconds: 60, elapsedSeconds: 100 }, 20_000],
  [{ timeoutSeconds: 80, checkSeconds: 60, elapsedSeconds: 500 }, 0],
  [{ timeoutSeconds: null, checkSeconds: 60, elapsedSeconds: 0 }, undefined],
])("a timeout takes effect at the first check after it: %j", (spec, expected) => {
  expect(timeoutAfterMs(spec)).toBe(expected);
});

function logOf(limitBytes: number, chunks: readonly string[], lines: readonly string[] = []): string {
  let written = "";
  const log = openCappedLog(limitBytes, (bytes) => (written += bytes.toString()));
  for (const chunk of chunks) log.add(Buffer.from(chunk));
  log.end(lines);
  return written;
}

test("a log within its limit is kept byte for byte", () => {
  expect(logOf(10, ["abc", "", "defg", "hij"])).toBe("abcdefghij");
  expect(logOf(10, [])).toBe("");
});

test("a log over its limit keeps its first and last half, and says how many bytes were left out", () => {
  const log = logOf(10, "abcdefghijklm".split(""));
  expect(log).toMatch(/^abcde\nheadgate: .*limit of 10 bytes.*\nheadgate: 3 bytes were left out here\nijklm$/);
  expect(logOf(10, ["abcdefghijklm"])).toBe(log);
});

test("the runner's messages begin on a new line", () => {
  expect(logOf(100, ["no newline"], ["ended"])).toBe("no newline\nheadgate: ended\n");
  expect(logOf(100, ["newline\n"], ["ended"])).toBe("newline\nheadgate: ended\n");
});

test.each([
  ["{", /JSON/],
  ["[]", /version is missing/],
  ['{"version":1,"argv":"x","cwd":"/"}', /argv is missing or of the wrong type/],
  ['{"version":1,"argv":["x"]}', /cwd is missing/],
  ['{"version":1,"argv":["x"],"cwd":"/","checkSeconds":"60"}', /checkSeconds is missing or of the wrong type/],
])("an invalid spec is refused with the reason: %s", (text, reason) => {
  expect(() => parseSpec(text)).toThrow(reason);
});

test.each([
  ["sh: 1: Cannot fork", true],
  ["bash: fork: retry: Resource temporarily unavailable", true],
  ["    self.pid = _fork_exec(\n      ^^^\nBlockingIOError: [Errno 11] Resource temporarily unavailable", true],
  ["java.lang.OutOfMemoryError: unable to create native thread: possibly out of memory", true],
  ["RuntimeError: can't start new thread", true],
  ["BlockingIOError: [Errno 11] Resource temporarily unavailable", false],
])("fork failures are recognised in the log: %s", (text, isRefusal) => {
  const search = detectForkFailure();
  search.read(Buffer.from(text));
  expect(search.isFound()).toBe(isRefusal);
});

test("a measurement continues where it paused, and an exception ends it", () => {
  const measurement = new Measurement(0);
  measurement.begin(
    (function* () {
      yield;
      yield;
      return 7;
    })(),
  );
  expect([measurement.advance(), measurement.advance()]).toEqual([undefined, undefined]);
  expect(measurement.advance()).toMatchObject({ result: 7 });
  measurement.begin(
    (function* (): Generator<undefined, number> {
      yield;
      throw new Error("gone");
    })(),
  );
  expect(measurement.advance()).toBeUndefined();
  expect(() => measurement.advance()).toThrow("gone");
  expect(measurement.isUnderWay).toBe(false);
});
