import { expect, test } from "vitest";
import { memoryOfUpload, partSize } from "./body-parts.ts";
import { MAX_PARTS } from "./s3-multipart.ts";

const MIB = 1024 * 1024;
const GIB = 1024 * MIB;

test.each([
  [0, 5],
  [5 * MIB, 5],
  [5 * MIB * MAX_PARTS, 5],
  [5 * MIB * MAX_PARTS + 1, 6],
  [312 * GIB, 32],
  [undefined, 8],
])("%d bytes are uploaded in equal parts of %i MiB", (bytes, partMiB) => {
  expect(partSize(bytes)).toBe(partMiB * MIB);
  expect(Math.ceil((bytes ?? 0) / partMiB / MIB)).toBeLessThanOrEqual(MAX_PARTS);
});

test.each([313 * GIB, 1e15, Number.MAX_VALUE, Infinity])("%d bytes are too large", (bytes) => {
  expect([partSize(bytes), memoryOfUpload(bytes)]).toEqual([undefined, 0]);
});

test.each([
  [0, 0],
  [MIB, 2],
  [20 * MIB, 15],
  [312 * GIB, 96],
  [undefined, 24],
])("an upload of %d bytes takes %i MiB of memory", (bytes, memoryMiB) => {
  expect(memoryOfUpload(bytes)).toBe(memoryMiB * MIB);
});
