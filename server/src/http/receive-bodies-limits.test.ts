import { PassThrough } from "node:stream";
import { setImmediate as turn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { BodyBudget, readBody } from "./receive-bodies.ts";

const MIB = 1024 * 1024;
const limits = { accountBytes: 64 * MIB, nodeBytes: 64 * MIB };

function read(stream: PassThrough, declaredBytes?: number): Promise<Buffer> {
  const claim = new BodyBudget(limits).open("one");
  return readBody({ stream, declaredBytes, terms: { limitBytes: 2 * MIB, owner: "one" }, claim });
}

test.each([
  ["one chunk of the declared length", ["abc"], 3],
  ["several chunks of a declared length", ["ab", "c", "defgh"], 8],
  ["several chunks", ["a", "bc", "d".repeat(100_000), "e"], undefined],
  ["nothing", [], undefined],
])("a body of %s is complete", async (_what, chunks, declared) => {
  const stream = new PassThrough();
  const body = read(stream, declared);
  for (const chunk of chunks) stream.write(chunk);
  stream.end();
  expect((await body).toString()).toBe(chunks.join(""));
});

test("a body sent in single bytes takes no more memory than is counted", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const used = (): number => {
    collect();
    const { heapUsed, arrayBuffers } = process.memoryUsage();
    return heapUsed + arrayBuffers;
  };
  const stream = new PassThrough();
  const body = read(stream);
  const bytes = 200_000;
  const before = used();
  for (let sent = 0; sent < bytes; sent += 1) {
    stream.write(Buffer.of(97));
    if (sent % 1000 === 0) await turn();
  }
  await turn();
  expect(used() - before).toBeLessThan(4 * MIB);
  stream.end();
  expect((await body).length).toBe(bytes);
});
