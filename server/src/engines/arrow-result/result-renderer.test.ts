import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { Int32, Utf8, vectorFromArray } from "apache-arrow";
import { afterAll, describe, expect, test } from "vitest";
import { received, streamOf } from "../../../test/support/arrow-streams.ts";
import { bytesOf, useRendered } from "../../../test/support/rendered-result.ts";
import { resultRenderer, type ResultRenderer, type ResultRendererOptions } from "./result-renderer.ts";
import type { SpooledResult } from "./spool-result.ts";

const text = { format: "text" } as const;

/** About 3 MB as text: a dozen chunks. */
const batches = received(
  Array.from({ length: 30 }, (_, number) => {
    const rows = Array.from({ length: 2000 }, (_, i) => number * 2000 + i);
    const data = streamOf({
      n: vectorFromArray(rows, new Int32()),
      s: vectorFromArray(
        rows.map((n) => `the row of the number ${n}, with more text`),
        new Utf8(),
      ),
    });
    return { data, rows: rows.length };
  }),
);

describe("the renderer", () => {
  const { spooled } = useRendered();
  const all = new Map<string, ResultRenderer>();
  afterAll(async () => {
    await Promise.all([...all.values()].map((renderer) => renderer.stop()));
  });

  /** Tests with the same options share a renderer, because starting a thread takes a while. */
  function renderer(options: ResultRendererOptions = {}): ResultRenderer {
    const key = JSON.stringify(options);
    const made = all.get(key) ?? resultRenderer({ threads: 1, ...options });
    all.set(key, made);
    return made;
  }

  async function read(pieces: AsyncIterable<Uint8Array>): Promise<Buffer> {
    return Buffer.concat(await Array.fromAsync(pieces));
  }

  /** Damages the data so that reading fails, but not opening. */
  function damage({ dataFile }: SpooledResult): void {
    const bytes = readFileSync(dataFile);
    bytes[bytes.length - 100] = (bytes.at(-100) ?? 0) ^ 1;
    writeFileSync(dataFile, bytes);
  }

  test.each(["text", "raw", "csv", "json", "arrow"] as const)("renders a whole result as %s", async (format) => {
    const result = await spooled(batches);
    const all = bytesOf(result, { format, includeHeaders: true });
    expect((await read(renderer().render(result, { format, includeHeaders: true }))).equals(all)).toBe(true);
  });

  test("serves many readers with one thread, each at its own pace", async () => {
    const result = await spooled(batches);
    const all = bytesOf(result, text);
    const made = renderer();
    const readers = Array.from({ length: 8 }, () => ({
      pieces: made.render(result, text)[Symbol.asyncIterator](),
      taken: [] as Uint8Array[],
      isDone: false,
    }));
    // The first reader takes chunks eight times as often as the last.
    for (let round = 0; readers.some(({ isDone }) => !isDone); round++) {
      for (const [i, reader] of readers.entries()) {
        if (round % (i + 1) !== 0) continue;
        const { done = false, value } = await reader.pieces.next();
        reader.isDone = done;
        if (!done) reader.taken.push(value as Uint8Array);
      }
    }
    for (const { taken } of readers) expect(Buffer.concat(taken).equals(all)).toBe(true);
  });

  test("measures the length of a rendered result", async () => {
    const result = await spooled(batches);
    const made = renderer();
    for (const format of ["text", "csv", "json", "arrow"] as const) {
      expect(await made.measure(result, { format })).toBe(bytesOf(result, { format }).length);
    }
  });

  test("stops measuring soon after the limit", async () => {
    const result = await spooled(batches);
    const all = bytesOf(result, text).length;
    const counted = await renderer().measure(result, text, 1000);
    expect(counted).toBeGreaterThan(1000);
    expect(counted).toBeLessThan(all);
  });

  describe("under a limit", () => {
    test("renders only results that are shorter", async () => {
      const result = await spooled(batches);
      const all = bytesOf(result, text);
      const made = renderer({ threads: 1 });
      const under = await made.renderUnder(all.length + 1, result, text);
      expect((await read(under ?? fail())).equals(all)).toBe(true);
      expect(await made.renderUnder(all.length, result, text)).toBeUndefined();
      expect(await made.renderUnder(1000, result, text)).toBeUndefined();
      expect(made.openCount()).toBe(0);
    });

    test("renders a small result unchanged", async () => {
      const result = await spooled(batches.slice(0, 1));
      const under = await renderer().renderUnder(20_000_000, result, text);
      expect((await read(under ?? fail())).equals(bytesOf(result, text))).toBe(true);
    });

    test("measures text before it is escaped", async () => {
      const result = await spooled(batches.slice(0, 1));
      const all = bytesOf(result, text).length;
      const made = renderer();
      expect(await made.renderUnder(all + 1, result, { ...text, escaped: true })).toBeDefined();
      expect(await made.renderUnder(all, result, { ...text, escaped: true })).toBeUndefined();
    });

    test.each([
      ["returned", async (pieces: AsyncIterator<unknown>) => pieces.return?.()],
      ["aborted", async (_: unknown, aborting: AbortController) => aborting.abort()],
    ])("keeps nothing open if the iterator is %s before it is read", async (_, leave) => {
      const result = await spooled(batches);
      const made = renderer({ threads: 1 });
      const aborting = new AbortController();
      const under = (await made.renderUnder(1e9, result, text, { signal: aborting.signal })) ?? fail();
      expect(made.openCount()).toBe(1);
      await leave(under[Symbol.asyncIterator](), aborting);
      expect(made.openCount()).toBe(0);
    });
  });

  test("stops when the signal is aborted", async () => {
    const result = await spooled(batches);
    const made = renderer({ threads: 1 });
    const aborting = new AbortController();
    const pieces = made.render(result, text, { signal: aborting.signal })[Symbol.asyncIterator]();
    await pieces.next();
    aborting.abort(new Error("enough"));
    await expect(pieces.next()).rejects.toThrow("enough");
    expect(made.openCount()).toBe(0);
  });

  test("fails only for the damaged or missing result", async () => {
    const [sound, broken, gone] = [await spooled(batches), await spooled(batches), await spooled(batches)];
    damage(broken);
    rmSync(gone.indexFile);
    const made = renderer();
    const whole = read(made.render(sound, text));
    await expect(read(made.render(broken, text))).rejects.toThrow("the result cannot be rendered");
    await expect(read(made.render(gone, text))).rejects.toMatchObject({
      cause: { message: expect.stringContaining("ENOENT") },
    });
    expect((await whole).equals(bytesOf(sound, text))).toBe(true);
  });

  test("ends idle threads and starts new ones when needed", async () => {
    const result = await spooled(batches.slice(0, 2));
    const made = renderer({ idleMs: 1 });
    const threads = (): number => process.getActiveResourcesInfo().filter((name) => name === "MessagePort").length;
    const before = threads();
    await read(made.render(result, text));
    await expect.poll(threads).toBeLessThanOrEqual(before); // threads of an earlier test file may end meanwhile
    expect((await read(made.render(result, text))).equals(bytesOf(result, text))).toBe(true);
  });

  test("rejects pending reads when it is stopped", async () => {
    const result = await spooled(batches);
    const made = resultRenderer({ threads: 1 });
    const pieces = made.render(result, text)[Symbol.asyncIterator]();
    await pieces.next();
    await made.stop();
    await expect(Promise.all([pieces.next(), pieces.next()])).rejects.toThrow("ended");
  });
});

function fail(): never {
  throw new Error("there is no text");
}
