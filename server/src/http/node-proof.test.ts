import { describe, expect, test } from "vitest";
import { KeyRing, newKey, type Key } from "../lib/key-ring.ts";
import { isNodeProof, nodeProof } from "./node-proof.ts";

const first = newKey([]);
const second = newKey([first]);
const ring = (...keys: Key[]): KeyRing => new KeyRing(keys, () => keys);
const covered = { "x-forwarded-for": "203.0.113.7", "x-auth-token": "hg_1" };

describe("the proof of a node", () => {
  test("is accepted by nodes with the same key", () => {
    expect(isNodeProof(ring(first, second), nodeProof(ring(first), covered), covered)).toBe(true);
    expect(isNodeProof(ring({ ...first, bytes: second.bytes }), nodeProof(ring(first), covered), covered)).toBe(false);
    expect(isNodeProof(ring(second), nodeProof(ring(first), covered), covered)).toBe(false);
  });

  test("is accepted during a rotation by a node that has not read the new key yet", () => {
    const rotated = [first, second];
    const behind = new KeyRing([first], () => rotated);
    expect(isNodeProof(behind, nodeProof(ring(...rotated), covered), covered)).toBe(true);
  });

  test("is only valid for the caller's address and token", () => {
    const proof = nodeProof(ring(first), covered);
    for (const other of [
      { ...covered, "x-forwarded-for": "203.0.113.8" },
      { ...covered, "x-auth-token": "hg_2" },
      { "x-forwarded-for": "203.0.113.7" },
      {},
    ]) {
      expect(isNodeProof(ring(first), proof, other)).toBe(false);
    }
  });

  test("is not accepted if the key file cannot be read, and unknown keys rarely cause a reading of it", () => {
    let readings = 0;
    const keys = new KeyRing([first], () => {
      readings += 1;
      throw new Error("too many open files");
    });
    for (let id = 2; id < 1000; id += 1) {
      expect(isNodeProof(keys, `node ${id} ${"A".repeat(43)}`, covered)).toBe(false);
    }
    expect(readings).toBeLessThan(5);
    expect(isNodeProof(keys, nodeProof(ring(first), covered), covered)).toBe(true);
  });

  test.each([
    "",
    "node",
    "node 1 ",
    `node 1 ${"A".repeat(42)}`,
    `node 1 ${"A".repeat(44)}`,
    `node -1 ${"A".repeat(43)}`,
  ])("has no other form (%j)", (proof) => {
    expect(isNodeProof(ring(first), proof, covered)).toBe(false);
  });
});
