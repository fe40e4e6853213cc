import { readFileSync } from "node:fs";
import { median } from "../measure.ts";
import type { BenchCase } from "./bench-case.ts";
import { withManyKeys } from "./many-keys.ts";
import { printAims, printRow, type Aim } from "./report.ts";
import type { Workbench } from "./workbench.ts";

const FEW = 1000;
const MANY = 1_000_000;
const LIMIT = 1.2;

interface Way {
  readonly title: string;
  readonly words: readonly string[];
  /** Matches the last lines of the log, to make sure that the copy got this far. */
  readonly ends: RegExp;
  readonly exitCode: number;
}

/**
 * None of these runs copies anything, so that only listing and planning take memory. The plans of the last two are refused
 * when they are complete: two inputs would become one output, or a group would have members with and without gzip.
 */
const WAYS: readonly Way[] = [
  {
    title: "list",
    words: ["--srcPattern", ".*/no-such-file"],
    ends: /0 of \d+ files matched/,
    exitCode: 0,
  },
  {
    title: "plan renamed files",
    words: ["--outputCodec", "gz"],
    ends: /last\.txt\.gz/,
    exitCode: 1,
  },
  {
    title: "plan groups",
    words: ["--groupBy", String.raw`.*/(\d+|last)/[^/]*`],
    ends: /last/,
    exitCode: 1,
  },
];

export const memory: BenchCase = {
  does: "resident memory while a million files are listed and planned, against a thousand",
  async run(bench) {
    const few = await measureAll(bench, FEW);
    const many = await measureAll(bench, Math.max(FEW, bench.scaled(MANY)));
    console.log(`\npeak of the resident memory in MiB`);
    printRow(["files", `${FEW}`, `${Math.max(FEW, bench.scaled(MANY))}`]);
    const aims = WAYS.map(({ title }, way): Aim => {
      const [least = 0, most = 0] = [few[way], many[way]];
      printRow([title, least.toFixed(0), most.toFixed(0)]);
      return { says: `${title}: memory as a multiple`, value: most / least, unit: "×", max: LIMIT };
    });
    return printAims(aims);
  },
};

/** The median peak of each way, in MiB. */
async function measureAll(bench: Workbench, count: number): Promise<number[]> {
  const { runner, clients, objects, rounds } = bench;
  const name = `keys-${count}`;
  return withManyKeys(bench, name, count, async () => {
    // These keys sort after all others, so that the plan is complete when it is refused.
    objects.linkObjects(`sources/${name}`, "first.txt", ["last/last.txt", "last/last.txt.gz"]);
    const peaks: number[][] = WAYS.map(() => []);
    for (let round = 0; round < rounds; round += 1) {
      for (const [way, { words, ends, exitCode }] of WAYS.entries()) {
        const copy = clients.ours(["--src", `s3://sources/${name}/`, "--dest", `s3://copies/${name}/`, ...words]);
        const { peakMiB } = await runner.run(copy, exitCode);
        const log = readFileSync(runner.stderr, "utf8");
        if (!ends.test(log)) throw new Error(`the copy ended for another reason:\n${log}`);
        peaks[way]?.push(peakMiB);
      }
    }
    return peaks.map(median);
  });
}
