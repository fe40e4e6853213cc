import "../run-folder.ts";
import { parseArgs } from "node:util";
import { CannotMeasureError, type BenchCase } from "./bench-case.ts";
import { grouping } from "./grouping.ts";
import { gzipText } from "./gzip-text.ts";
import { largeCopy, largeDownload, largeDownloadTls, largeUpload } from "./large-files.ts";
import { listing } from "./listing.ts";
import { memory } from "./memory.ts";
import { oneFile } from "./one-file.ts";
import { smallCopy, smallDownload, smallDownloadTls, smallUpload } from "./small-files.ts";
import { openWorkbench, type Workbench } from "./workbench.ts";

const CASES: Readonly<Record<string, BenchCase>> = {
  "small-download": smallDownload,
  "small-download-tls": smallDownloadTls,
  "small-upload": smallUpload,
  "small-copy": smallCopy,
  "large-download": largeDownload,
  "large-download-tls": largeDownloadTls,
  "large-upload": largeUpload,
  "large-copy": largeCopy,
  grouping,
  gzip: gzipText,
  listing,
  memory,
  "one-file": oneFile,
};

const HELP = `npm run bench:s3-copy -- [--only CASE]… [--rounds 5] [--scale 1] [--folder /dev/shm] [--profile FOLDER]

Compares the copy engine with s5cmd and rclone on one S3 server of this machine (versitygw, whose files are in memory).
Each round starts with another client; medians are compared. The contents are verified once per client. CPU is user and
system time of the client, its start included. Raw requests, signed beforehand, show the limit of the server.
Over TLS, s5cmd and rclone do not check the certificate; our copy does.
--scale makes counts and sizes smaller, for a quick look: start-up times then weigh more. --folder must be in memory,
otherwise the disk is measured. With --profile, a CPU profile of each of our runs is written to the folder, which slows
them down. The first run downloads the peers from PyPI and builds versitygw, which needs Go.

Cases:
${Object.entries(CASES)
  .map(([name, { does }]) => `  ${name.padEnd(16)} ${does}`)
  .join("\n")}
`;

const { values } = parseArgs({
  options: {
    only: { type: "string", multiple: true, default: [] },
    rounds: { type: "string", default: "5" },
    scale: { type: "string", default: "1" },
    folder: { type: "string", default: "/dev/shm" },
    profile: { type: "string" },
    help: { type: "boolean", default: false },
  },
});
const unknown = values.only.filter((name) => !(name in CASES));
if (unknown.length > 0)
  throw new Error(`unknown case: ${unknown.join(" ")}; use one of ${Object.keys(CASES).join(", ")}`);
const [rounds, scale] = [Number(values.rounds), Number(values.scale)];
if (!(Number.isInteger(rounds) && rounds > 0)) throw new Error("--rounds must be a positive integer");
if (!(scale > 0 && scale <= 1)) throw new Error("--scale must be above 0 and at most 1");

if (values.help) process.stdout.write(HELP);
else await benchAll();

async function benchAll(): Promise<void> {
  const opening = openWorkbench({ rounds, scale, folder: values.folder, profile: values.profile });
  let closing: Promise<void> | undefined;
  const close = (): Promise<void> => (closing ??= opening.then((bench) => bench.close()));
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    process.once(signal, () => void close().finally(() => process.exit(1)));
  }
  const bench = await opening;
  console.log(`${bench.server.title}, ${rounds} rounds, scale ${scale}`);
  for (const [name, benchCase] of Object.entries(CASES)) {
    if (values.only.length > 0 && !values.only.includes(name)) continue;
    const isReached = await benchOne(name, benchCase, bench, () => closing !== undefined);
    if (closing !== undefined) break; // interrupted
    if (!isReached) process.exitCode = 1;
  }
  await close();
}

/** A case that fails or does not fit into memory does not end the others. */
async function benchOne(
  name: string,
  benchCase: BenchCase,
  bench: Workbench,
  isInterrupted: () => boolean,
): Promise<boolean> {
  try {
    return await benchCase.run(bench);
  } catch (error) {
    if (!isInterrupted()) {
      console.error(`\n${name}: not measured:`, error instanceof CannotMeasureError ? error.message : error);
    }
    return false;
  }
}
