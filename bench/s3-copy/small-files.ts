import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import type { BenchCase } from "./bench-case.ts";
import type { Result } from "./compare.ts";
import { makeRandomFiles } from "./contents.ts";
import { comparePlainCopy, type Direction } from "./plain-copy.ts";
import { aimAgainstPeers, aimPerCpuSecond, aimsAtServerLimit, printAims, type Aim } from "./report.ts";
import type { Workbench } from "./workbench.ts";

const COUNT = 20_000;
const BYTES = 4096;
/** A file takes up a page in memory, besides its own entry. */
const ROOM_PER_FILE = 8192;
const name = "small";

export const smallDownload = smallCase("S3 to files", (results) => [aimAgainstPeers(results, 1.6)]);
export const smallDownloadTls = smallCase("S3 to files", (results) => [aimAgainstPeers(results, 1.6)], true);
export const smallUpload = smallCase("files to S3", (results) => [aimAgainstPeers(results, 1.3)]);
export const smallCopy = smallCase("S3 to S3", aimsAtServerLimit);

function smallCase(
  direction: Direction,
  aims: (results: readonly Result[]) => Aim[],
  isTls: boolean = false,
): BenchCase {
  return {
    does: `20,000 files of 4 KiB from ${direction}${isTls ? " over TLS" : ""}`,
    async run(bench) {
      const files = bench.scaled(COUNT);
      bench.requireRoom(4 * files * ROOM_PER_FILE, 4 * files);
      const copy = { name, title: `${files} files of 4 KiB`, direction, files, bytes: files * BYTES };
      return withSmallFiles(bench, files, async () => {
        const results = await comparePlainCopy(bench, { ...copy, hasFloor: direction !== "files to S3", isTls });
        return printAims([...aims(results), aimPerCpuSecond(results, files)]);
      });
    },
  };
}

async function withSmallFiles(
  { files, objects }: Workbench,
  count: number,
  work: () => Promise<boolean>,
): Promise<boolean> {
  const folder = join(files, name);
  try {
    mkdirSync(folder);
    makeRandomFiles(folder, count, BYTES);
    await objects.upload(folder, name);
    return await work();
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await objects.remove("sources", name);
  }
}
