import { parseArgs } from "node:util";
import { runChaos } from "./run-chaos.ts";

/** `npm run chaos -- [--seed N] [--commands 500] [--verbose]`: without a seed, another one each time. */
const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    commands: { type: "string", default: "500" },
    verbose: { type: "boolean", default: false },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
const seed = Number(values.seed);
const began = performance.now();
say(`seed ${seed}`);
const { verdict, faults, statuses, causes, seconds } = await runChaos({
  seed,
  commands: Number(values.commands),
  isShort: false,
  tell: (what) => values.verbose && say(`${((performance.now() - began) / 1000).toFixed(1)} s: ${what}`),
});
const count = (counts: Readonly<Record<string, number>>): string =>
  Object.entries(counts)
    .map(([name, times]) => `${times} × ${name}`)
    .join(", ");
say(`faults: ${count(faults)}`);
say(`failed attempts: ${count(causes)}`);
say(`commands: ${count(statuses)}, in ${Math.round(seconds)} s`);
const { lost, overlapping, repeated, stuck } = verdict;
for (const flaw of [...lost, ...overlapping, ...repeated, ...stuck]) say(`  ${flaw}`);
say(
  `seed ${seed}: ${lost.length} lost, ${overlapping.length + repeated.length} overlapping or repeated, ${stuck.length} stuck`,
);
process.exitCode = lost.length + overlapping.length + repeated.length + stuck.length === 0 ? 0 : 1;
