import { describe, expect, test } from "vitest";
import { sendInPieces, SentContents } from "./sent-contents.ts";

const MIB = 1024 * 1024;

describe("contents that are being sent", () => {
  test("can have 64 MiB in an account, or more if there is only one", () => {
    const sent = new SentContents();
    const first = sent.reserve(1, 100 * MIB);
    expect(() => sent.reserve(1, MIB)).toThrow(/This account is reading too many large notebooks/);
    sent.reserve(2, 30 * MIB);
    sent.reserve(2, 34 * MIB);
    expect(() => sent.reserve(2, MIB)).toThrow(/This account/);
    sent.reserve(2, 1024);
    first.release();
    first.release();
    sent.reserve(1, 64 * MIB);
    expect(() => sent.reserve(1, MIB)).toThrow(/This account/);
  });

  test("can have 256 MiB on a node", () => {
    const sent = new SentContents();
    const taken = [1, 2, 3, 4].map((account) => sent.reserve(account, 64 * MIB));
    expect(() => sent.reserve(5, MIB)).toThrow(/The server is sending too many large notebooks/);
    for (const { release } of taken) release();
    sent.reserve(5, MIB);
  });

  test("are sent in pieces of 64 KiB, without cutting characters", async () => {
    const chunks = ["a", "b", "c".repeat(2 ** 16 - 3), "\u{1f4d3}".repeat(2 ** 16), "d"];
    const pieces = await Array.fromAsync(sendInPieces(chunks, () => undefined));
    expect(pieces.map(({ length }) => length)).toEqual([2 ** 16 - 1, 2 ** 16, 2 ** 16, 1]);
    expect(pieces.every((piece) => piece.isWellFormed())).toBe(true);
    expect(pieces.join("")).toBe(chunks.join(""));
  });

  test.each([
    ["read to the end", async (chunks: AsyncIterableIterator<string>) => void (await Array.fromAsync(chunks))],
    ["closed before the first chunk", async (chunks: AsyncIterableIterator<string>) => void (await chunks.return?.())],
    [
      "closed in the middle",
      async (chunks: AsyncIterableIterator<string>) => {
        for await (const chunk of chunks) if (chunk.startsWith("ab")) break;
      },
    ],
  ])("release their memory when they are %s", async (_kind, read) => {
    let released = 0;
    await read(sendInPieces(["a", "b", "c".repeat(100_000), "d"], () => (released += 1)));
    expect(released).toBeGreaterThan(0);
  });

  test("release their memory when writing them fails", async () => {
    let released = 0;
    const failing = function* (): Generator<string> {
      yield "a";
      throw new Error("no cell");
    };
    const chunks = sendInPieces(failing(), () => (released += 1));
    await expect(Array.fromAsync(chunks)).rejects.toThrow("no cell");
    expect(released).toBeGreaterThan(0);
  });
});
