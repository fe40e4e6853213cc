import { mkdirSync, mkdtempSync, rmSync, statSync, utimesSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { expect, onTestFinished, test } from "vitest";
import { Fault } from "../../lib/fault.ts";
import type { PlacedProgram } from "./place-program.ts";
import { startProgramSetUp } from "./program-set-up.ts";

const log = pino({ enabled: false });
const program: PlacedProgram = { argv: [], folders: [], compiled: "" };

test("the reason why a program cannot be placed is shown until a later attempt succeeds", async () => {
  const attempts = [Promise.withResolvers<PlacedProgram>(), Promise.withResolvers<PlacedProgram>()];
  let at = 0;
  const setUp = startProgramSetUp({
    title: "the program",
    log,
    retryMs: 1,
    async place(_, progress) {
      progress({ text: "Placing it" });
      return attempts[at++]?.promise ?? program;
    },
  });
  expect(setUp.unready()).toBe("the program is being set up: Placing it");
  attempts[0]?.reject(new Fault("unavailable", "there is no space"));
  await expect.poll(() => setUp.unready()).toMatch(/cannot be set up: there is no space|being set up/);
  expect(setUp.placed()).toBeUndefined();
  attempts[1]?.resolve(program);
  await expect.poll(() => setUp.unready()).toBe(null);
  expect(setUp.placed()).toBe(program);
  await setUp.stop();
});

test("a stop ends the wait for the next attempt", async () => {
  const place = () => Promise.reject(new Fault("unavailable", "there is no space"));
  const setUp = startProgramSetUp({ title: "the program", log, retryMs: 1_000_000, place });
  await expect.poll(() => setUp.unready()).toBe("the program cannot be set up: there is no space");
  await setUp.stop();
});

test("a program is marked as used while the server runs, and placed again if it was removed", async () => {
  const base = mkdtempSync(join(tmpdir(), "headgate-set-up-"));
  onTestFinished(() => rmSync(base, { recursive: true, force: true }));
  const folder = join(base, "program");
  let placed = 0;
  const place = () => {
    placed += 1;
    mkdirSync(folder);
    return Promise.resolve({ ...program, folders: [folder] });
  };
  const setUp = startProgramSetUp({ title: "the program", log, markMs: 1, retryMs: 1_000_000, place });
  await expect.poll(() => setUp.unready()).toBe(null);
  const longAgo = new Date(Date.now() - 29 * 24 * 3_600_000);
  utimesSync(folder, longAgo, longAgo);
  await expect.poll(() => statSync(folder).mtimeMs).toBeGreaterThan(Date.now() - 3_600_000);
  rmSync(folder, { recursive: true });
  await expect.poll(() => placed).toBe(2);
  await expect.poll(() => setUp.unready()).toBe(null);
  await setUp.stop();
});
