import { readFileSync, rmSync, statSync } from "node:fs";
import { join } from "node:path";
import type { BenchCase } from "./bench-case.ts";
import { compare } from "./compare.ts";
import { makeGzipFiles } from "./contents.ts";
import { listFiles } from "./object-folders.ts";
import { aimAgainstPeers, printAims, printResults } from "./report.ts";
import type { Workbench } from "./workbench.ts";

const COUNT = 10_000;
const BYTES = 100 * 1024;
const TARGET_MIB = 128;
const MIB = 1024 * 1024;
const name = "grouping";

/** Gzip members can be concatenated as they are. The peer decodes and encodes all contents, as other tools do. */
export const grouping: BenchCase = {
  does: "10,000 gzip files of 100 KiB from S3 to S3, grouped into files of 128 MiB",
  async run(bench) {
    const { clients, runner, rounds, files, objects, scaled } = bench;
    const count = scaled(COUNT);
    bench.requireRoom(4 * count * BYTES, 4 * count); // the peer has all inputs and outputs as files
    const from = join(files, name);
    const targetMiB = scaled(TARGET_MIB);
    try {
      makeGzipFiles(from, count, BYTES);
      await objects.upload(from, name);
      const bytes = listFiles(from).reduce((sum, path) => sum + statSync(join(from, path)).size, 0);
      const expected = await hashDecoded(bench, from);
      const verify = async (): Promise<void> => {
        const found = await hashDecoded(bench, await objects.asFiles("copies", name));
        if (found !== expected) throw new Error("the decoded outputs are not the decoded inputs");
      };
      const groups = ["--groupBy", String.raw`.*/\d+-(events.*)`, "--targetSize", String(targetMiB)];
      const words = ["--src", `s3://sources/${name}/`, "--dest", `s3://copies/${name}/`, ...groups];
      const perGroup = Math.ceil((targetMiB * MIB) / (bytes / count));
      const results = await compare({
        runner,
        rounds,
        contenders: [
          { name: "ours", command: () => clients.ours(words), verify },
          { name: "s5cmd and gzip", command: () => clients.script(byHand(files, perGroup)), verify },
        ],
        reset: async () => {
          rmSync(join(files, "by-hand"), { recursive: true, force: true });
          await objects.remove("copies", name);
        },
      });
      printResults(`${count} gzip files of 100 KiB, grouped into ${targetMiB} MiB`, results, { files: count, bytes });
      return printAims([aimAgainstPeers(results, 10)]);
    } finally {
      rmSync(from, { recursive: true, force: true });
      await objects.remove("sources", name);
    }
  },
};

/** Groups files with s5cmd and gzip: two groups at a time, because gzip uses one core. */
function byHand(files: string, perGroup: number): string {
  return `
    mkdir ${files}/by-hand; cd ${files}/by-hand; mkdir in out
    $S5CMD cp 's3://sources/${name}/*' in/
    find in -type f | LC_ALL=C sort | split -a 4 -d -l ${perGroup} - list-
    ls list-* | xargs -P 2 -I LIST sh -c 'xargs cat < LIST | gzip -dc | gzip -6 > out/LIST.gz'
    $S5CMD cp out/ s3://copies/${name}/`;
}

/** The hash of all decoded contents in the order of their paths; numbers in names are compared as numbers. */
async function hashDecoded({ clients, runner }: Workbench, folder: string): Promise<string> {
  await runner.run(
    clients.script(`cd ${folder}; find . -type f | LC_ALL=C sort -V | xargs cat | gzip -dc | sha256sum`),
  );
  return readFileSync(runner.stdout, "utf8").trim();
}
