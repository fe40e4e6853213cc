/**
 * `npm run bench:files -- [GiB] [rounds] [local|s3]`: uploads and downloads of one large file (2 GiB) through Headgate, and
 * 10,000 uploads of 1 KiB, on the server's disk and on S3 (SeaweedFS), against a bare Node server that streams to and from
 * the same disk or store. Each round of the large file measures both, one after the other. The memory is that of
 * Headgate's server process.
 */
import "../run-folder.ts";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createBucket } from "../../server/test/seaweedfs/configure-seaweedfs.ts";
import { credentials, region, startSeaweedFs } from "../../server/test/seaweedfs/seaweedfs-server.ts";
import { storageSettings } from "../../server/test/seaweedfs/seaweedfs.ts";
import { testCacheDir } from "../../server/test/support/cache-dir.ts";
import { startHeadgate, type BenchHeadgate } from "../headgate.ts";
import { median } from "../measure.ts";
import { startProgram, type Program } from "../program.ts";
import { checkSmallFiles, uploadSmallFiles } from "./small-files.ts";
import { memoryGrowth, transfer } from "./transfer.ts";

const [gibibytes = "2", rounds = "3", only] = process.argv.slice(2);
const BYTES = Number(gibibytes) * 1024 ** 3;
const WARM_UP_BYTES = 64 * 1024 ** 2;
const MAX_GROWTH_MB = 30;
const MIN_RATIO = 0.8;

const folder = mkdtempSync(join(tmpdir(), "headgate-bench-files-"));
const bareServer = (...args: string[]): Promise<Program> =>
  startProgram(process.execPath, [join(import.meta.dirname, "bare-server.ts"), ...args], /ready at (\S+)/, {});

async function measureLocal(headgate: BenchHeadgate): Promise<void> {
  const bare = await bareServer(folder);
  await compare("local disk", headgate, bare);
  await compareSmall("local disk", headgate, bare);
  await bare.stop();
}

async function measureS3(headgate: BenchHeadgate): Promise<void> {
  const store = await startSeaweedFs(testCacheDir(), folder);
  try {
    const { endpoint } = store.shared;
    await createBucket(endpoint, "bench");
    const account = { defloc: "s3://bench/headgate", ...storageSettings(credentials, endpoint) };
    await headgate.call("PUT", "/api/v2/accounts", { account });
    const bare = await bareServer(endpoint, "bench", region, credentials.accessKeyId, credentials.secretAccessKey);
    await compare("S3", headgate, bare);
    await compareSmall("S3", headgate, bare);
    await bare.stop();
  } finally {
    await store.stop();
  }
}

async function compare(where: string, headgate: BenchHeadgate, bare: Program): Promise<void> {
  const token = tokenOf(headgate);
  const url = `${headgate.url}/api/v2/files/large`;
  for (const direction of ["upload", "download"] as const) {
    const own = (bytes: number): Promise<number> => transfer(direction, url, bytes, token);
    if (direction === "upload") await own(WARM_UP_BYTES);
    const [ratios, growths]: [number[], number[]] = [[], []];
    for (let round = 0; round < Number(rounds); round += 1) {
      const bareRate = await transfer(direction, bare.url, BYTES, undefined);
      let rate = 0;
      growths.push(await memoryGrowth(headgate.pid, async () => (rate = await own(BYTES))));
      ratios.push(rate / bareRate);
      console.log(`  ${direction}: Headgate ${rate.toFixed(0)} MB/s, bare Node ${bareRate.toFixed(0)} MB/s`);
    }
    const [ratio, growth] = [median(ratios), Math.max(...growths)];
    const isGood = ratio >= MIN_RATIO && growth <= MAX_GROWTH_MB;
    const wanted = `wanted: at least ${MIN_RATIO}, at most ${MAX_GROWTH_MB} MB`;
    console.log(
      `${where}, ${direction}: ratio ${ratio.toFixed(2)}, memory +${growth.toFixed(0)} MB (${isGood ? "ok" : wanted})`,
    );
    if (!isGood) process.exitCode = 1;
  }
}

/** The bare server has no accounts, no audit and only one file: the ratio shows what these cost, and is not checked. */
async function compareSmall(where: string, headgate: BenchHeadgate, bare: Program): Promise<void> {
  const bareRate = await uploadSmallFiles(() => bare.url);
  let rate = 0;
  const growth = await memoryGrowth(headgate.pid, async () => {
    rate = await uploadSmallFiles((index) => `${headgate.url}/api/v2/files/small/${index}`, tokenOf(headgate));
  });
  await checkSmallFiles((query) => headgate.call("GET", `/api/v2/files?${query}`), "small/");
  const ratio = (rate / bareRate).toFixed(2);
  console.log(
    `${where}, 10,000 small uploads: ${rate.toFixed(0)}/s, bare Node ${bareRate.toFixed(0)}/s, ratio ${ratio}, ` +
      `memory +${growth.toFixed(0)} MB; all are in the list`,
  );
}

function tokenOf({ dataDir }: BenchHeadgate): string {
  return readFileSync(join(dataDir, "admin-token"), "utf8").trim();
}

const headgate = await startHeadgate();
try {
  if (only !== "s3") await measureLocal(headgate);
  if (only !== "local") await measureS3(headgate);
} finally {
  await headgate.stop();
  rmSync(folder, { recursive: true, force: true });
}
