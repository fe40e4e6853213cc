import { parseArgs } from "node:util";
import { slowestAnswers } from "./cut-off-answers.ts";
import { flawsOf } from "./flaws.ts";
import { runChaos } from "./run-chaos.ts";
import { runSparkOutage } from "./spark-outage.ts";

const HELP = `Usage: npm run chaos -- [options]

Runs commands on three nodes while faults strike, and compares what the API says with what really ran. After that, runs
a script on a real Spark while PostgreSQL is away (one outage of database-outage.full.test.ts).

  --seed N          repeats the commands and the order of the faults; their timing differs (default: random)
  --commands N      how many commands to submit (default: 500)
  --short           the form that is part of npm run test:full: two nodes, one cut, no steps of clocks, no real Spark
  --without-spark   leaves out the real Spark, which takes some minutes
  --verbose         prints each fault as it strikes
`;
const { values } = parseArgs({
  options: {
    seed: { type: "string", default: String(Math.floor(Math.random() * 1_000_000)) },
    commands: { type: "string", default: "500" },
    short: { type: "boolean", default: false },
    "without-spark": { type: "boolean", default: false },
    verbose: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});
const say = (line: string): void => void process.stdout.write(`${line}\n`);
if (values.help) {
  say(HELP);
  process.exit();
}
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
for (const each of report.leftOut) say(`left out: ${each}`);
say(`ends: ${count(report.ends)}, in ${Math.round(report.seconds)} s`);
const { calmShares } = report;
say(`attempts: ${count(report.shares)}${calmShares ? `; before the first fault: ${calmShares.join("/")}` : ""}`);
say(`${report.folderChanges} changes of folders and notebooks; ${report.continuedCopies} copies had several attempts`);
say(`failed attempts: ${count(report.causes)}; ${report.retriedKills} killed attempts were retried`);
const slowest = Object.entries(slowestAnswers(report.cutOffAnswers)).map(
  ([kind, took]) => `${kind} ${took.toFixed(1)} s`,
);
say(`slowest answers of a node without its database: ${slowest.join(", ")}`);
say(`drivers: ${count(report.manners)}; most processes at the same time: ${count(report.seen)}`);
say(`done: ${Math.round(100 * report.doneShare)} % of the commands that were neither made to fail nor cancelled`);
if (report.isOverloaded) say("the machine was overloaded: leases that nodes lost without a fault are excused");
const flaws = flawsOf(report);
for (const flaw of flaws) say(`  ${flaw}`);
say(`seed ${seed}: ${flaws.length === 0 ? "no flaws" : `${flaws.length} flaws`}`);
const isSparkFine = values.short || values["without-spark"] || (await runSparkOutage(seed));
if (!isSparkFine) say("the script on a real Spark failed: see above");
process.exitCode = flaws.length === 0 && isSparkFine ? 0 : 1;
