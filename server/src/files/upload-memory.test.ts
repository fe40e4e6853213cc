import { expect, test } from "vitest";
import { UploadMemory } from "./upload-memory.ts";

test("an account cannot take all the memory for uploads", () => {
  const memory = new UploadMemory({ accountBytes: 10, nodeBytes: 15 });
  const release = memory.take(1, 8);
  memory.take(1, 2);
  expect(() => memory.take(1, 1)).toThrow(expect.objectContaining({ code: "rate-limited" }));
  memory.take(2, 5);
  expect(() => memory.take(2, 1)).toThrow(expect.objectContaining({ code: "unavailable" }));
  release();
  release();
  memory.take(2, 5);
  expect(() => memory.take(3, 4)).toThrow(expect.objectContaining({ code: "unavailable" }));
  memory.take(1, 3);
});
