import { rmSync } from "node:fs";
import { join } from "node:path";
import type { BenchCase } from "./bench-case.ts";
import { makeSameFiles } from "./contents.ts";
import { comparePlainCopy, type Direction } from "./plain-copy.ts";
import { aimAgainstPeers, aimsAtServerLimit, printAims } from "./report.ts";
import type { Workbench } from "./workbench.ts";

const MIB = 1024 * 1024;
const FILES = 8;
const FILE_MIB = 1024;
const COPIED_FILES = 64;
const COPIED_MIB = 64;
const name = "large";

export const largeDownload = largeCase("S3 to files");
export const largeDownloadTls = largeCase("S3 to files", true);
export const largeUpload = largeCase("files to S3");

function largeCase(direction: Direction, isTls: boolean = false): BenchCase {
  return {
    does: `8 files of 1 GiB from ${direction}${isTls ? " over TLS" : ""}`,
    async run(bench) {
      const mib = bench.scaled(FILE_MIB);
      // All sources are links to one file. The parts of an upload take up space until its object is complete.
      bench.requireRoom((FILES + 3) * mib * MIB, 10_000);
      return withSameFiles(bench, FILES, mib * MIB, async () => {
        const amount = { title: `${FILES} files of ${mib} MiB`, files: FILES, bytes: FILES * mib * MIB };
        const results = await comparePlainCopy(bench, {
          name,
          direction,
          ...amount,
          hasFloor: direction === "S3 to files",
          isTls,
        });
        return printAims([aimAgainstPeers(results, 1.3)]);
      });
    },
  };
}

export const largeCopy: BenchCase = {
  does: "4 GiB in files of 64 MiB from S3 to S3",
  async run(bench) {
    const files = bench.scaled(COPIED_FILES);
    const bytes = COPIED_MIB * MIB;
    bench.requireRoom((files + 3) * bytes, 10_000);
    return withSameFiles(bench, files, bytes, async () => {
      const amount = { title: `${files} files of ${COPIED_MIB} MiB`, files, bytes: files * bytes };
      const results = await comparePlainCopy(bench, { name, direction: "S3 to S3", ...amount, hasFloor: true });
      return printAims(aimsAtServerLimit(results));
    });
  },
};

async function withSameFiles(
  { files, objects }: Workbench,
  count: number,
  bytes: number,
  work: () => Promise<boolean>,
): Promise<boolean> {
  const folder = join(files, name);
  try {
    makeSameFiles(folder, count, bytes);
    await objects.uploadSame(folder, name);
    return await work();
  } finally {
    rmSync(folder, { recursive: true, force: true });
    await objects.remove("sources", name);
  }
}
