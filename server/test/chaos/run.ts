import { parseArgs } from "node:util";
import { flawsOf } from "./flaws.ts";
import { runChaos } from "./run-chaos.ts";

/** `npm run chaos -- [--seed N] [--commands 500] [--short] [--verbose]`. The default seed is random. */
const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    commands: { type: "string", default: "500" },
    short: { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const seed = Number(values.seed);
const began = performance.now();
say(`seed ${seed}`);
const report = await runChaos({
  seed,
  commands: Number(values.commands),
  isShort: values.short,
  tell: (what) => values.verbose && say(`${((performance.now() - began) / 1000).toFixed(1)} s: ${what}`),
});
const count = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, times]) => `${times} × ${name}`)
    .join(", ");
say(`faults: ${count(report.faults)}`);
say(`ends: ${count(report.ends)}, in ${Math.round(report.seconds)} s`);
say(`attempts: ${count(report.shares)}`);
say(`failed attempts: ${count(report.causes)}; ${report.retriedKills} killed attempts were retried`);
say(`drivers: ${count(report.manners)}; most processes at the same time: ${count(report.seen)}`);
say(`done: ${Math.round(100 * report.doneShare)} % of the commands that were neither made to fail nor cancelled`);
if (report.isOverloaded) say("the machine was overloaded: leases that nodes lost without a fault are excused");
const flaws = flawsOf(report);
for (const flaw of flaws) say(`  ${flaw}`);
say(`seed ${seed}: ${flaws.length === 0 ? "no flaws" : `${flaws.length} flaws`}`);
process.exitCode = flaws.length === 0 ? 0 : 1;
