import { expect, test } from "vitest";
import { flawsOf } from "./flaws.ts";
import { runChaos } from "./run-chaos.ts";

/** A new seed for each run, unless `CHAOS_SEED` sets it. */
const seed = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 1_000_000));

/** The short form of `npm run chaos`. */
test(`no command is lost, repeated or stuck while processes are killed and frozen, PostgreSQL and Spark die, a machine reboots and a node is cut off (CHAOS_SEED=${seed})`, async () => {
  const report = await runChaos({ seed, commands: 24, isShort: true, tell: () => undefined });
  expect(flawsOf(report)).toEqual([]);
});
