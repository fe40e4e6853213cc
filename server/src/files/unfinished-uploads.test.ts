import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { AccountStorage } from "../accounts/contract.ts";
import { systemClock } from "../lib/clock.ts";
import { UnfinishedUploads } from "./unfinished-uploads.ts";

let folder = "";
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "uploads-"));
});
afterEach(() => rmSync(folder, { recursive: true }));

function uploadsWith(discard: (accountId: number) => Promise<void>): UnfinishedUploads {
  const open = async (accountId: number) => ({
    store: { discard: () => discard(accountId), close: async () => undefined },
  });
  const storage = { open } as unknown as AccountStorage; // the rest is not used
  return new UnfinishedUploads({ folder, storage, clock: systemClock, log: pino({ level: "silent" }) });
}

function leave(accountId: number, name: string): void {
  writeFileSync(join(folder, name), JSON.stringify({ accountId, uri: "s3://bucket/key", id: "1" }));
}

test("a store that does not answer does not keep leftovers in others", async () => {
  leave(1, "a.json");
  leave(2, "b.json");
  const answered = Promise.withResolvers<void>();
  const removed = uploadsWith(async (accountId) => (accountId === 1 ? answered.promise : undefined)).removeLeftovers();
  await vi.waitUntil(() => !readdirSync(folder).includes("b.json"));
  expect(readdirSync(folder)).toEqual(["a.json"]);
  answered.resolve();
  await removed;
  expect(readdirSync(folder)).toEqual([]);
});

test("a note that is gone or broken keeps no other leftover", async () => {
  leave(1, "a.json");
  leave(1, "b.json");
  leave(2, "c.json");
  writeFileSync(join(folder, "d.json"), '{"acc');
  const uploads = uploadsWith(async (accountId) => {
    if (accountId === 1) rmSync(join(folder, "a.json"), { force: true });
    else throw new Error("away");
  });
  await uploads.removeLeftovers();
  expect(readdirSync(folder)).toEqual(["c.json"]);
});
