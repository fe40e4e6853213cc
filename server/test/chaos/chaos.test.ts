import { expect, test } from "vitest";
import { flawsOf } from "./flaws.ts";
import { runChaos } from "./run-chaos.ts";

/** Another one each time; `CHAOS_SEED` repeats one. */
const seed = Number(process.env.CHAOS_SEED ?? Math.floor(Math.random() * 1_000_000));

/** The short form of `npm run chaos`. */
test(`under kill -9, SIGSTOP, a dead PostgreSQL, a dead Spark, a reboot and a node cut off no command is lost, repeated or stuck (CHAOS_SEED=${seed})`, async () => {
  const report = await runChaos({ seed, commands: 24, isShort: true, tell: () => undefined });
  expect(flawsOf(report)).toEqual([]);
}, 240_000);
