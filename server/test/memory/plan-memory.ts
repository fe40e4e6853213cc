import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ManifestEntry } from "../../src/engines/s3-copy/manifest/manifest-entry.ts";
import type { PlanOptions } from "../../src/engines/s3-copy/plan/plan-context.ts";
import { planOutputs } from "../../src/engines/s3-copy/plan/plan-outputs.ts";
import type { SourceFile } from "../../src/engines/s3-copy/plan/planned-output.ts";
import { bytesPerMiB } from "../../src/lib/size-text.ts";
import { plainOptions } from "../support/copy-plans.ts";
import { liveBytes } from "./live-memory.ts";

const PAGE = 1000;
/** Few, because each collects the garbage of the whole process first. */
const MEASUREMENTS = 5;

/** Plans a copy of `count` files that are listed in no order. Returns the number of planned files and the peak memory. */
export async function measurePlan(
  count: number,
  options: Partial<PlanOptions>,
  hasManifest = false,
): Promise<{ files: number; growthMiB: number }> {
  const scratchFolder = mkdtempSync(join(tmpdir(), "headgate-plan-"));
  const before = liveBytes();
  let [files, outputs, most] = [0, 0, 0];
  const measure = () => {
    most = Math.max(most, liveBytes());
  };
  const previousManifest = hasManifest ? everySecond(count) : undefined;
  const plan = planOutputs(
    pagesOf(count, measure),
    { ...plainOptions, ...options },
    { scratchFolder, destinationScheme: "s3", previousManifest },
  );
  for await (const output of plan) {
    files += output.sourceCount;
    if (outputs % (count / MEASUREMENTS) === 0) measure();
    outputs += 1;
  }
  plan.close();
  rmSync(scratchFolder, { recursive: true });
  return { files, growthMiB: (most - before) / bytesPerMiB };
}

/** 7919 is prime, so that every number occurs once. */
function fileAt(at: number, count: number): SourceFile {
  const number = (at * 7919) % count;
  const name = `year=2026/day=${number % 365}/part-${String(number).padStart(9, "0")}.gz`;
  return {
    uri: `s3://logs/events/${name}`,
    name,
    size: number,
    modifiedMs: number,
    etag: `"${"e".repeat(32)}"`,
    storageClass: null,
  };
}

async function* pagesOf(count: number, measure: () => void): AsyncGenerator<readonly SourceFile[]> {
  for (let at = 0; at < count; at += PAGE) {
    yield Array.from({ length: PAGE }, (_, each) => fileAt(at + each, count));
    if (at % (count / MEASUREMENTS) === 0) measure();
  }
  measure();
}

async function* everySecond(count: number): AsyncGenerator<ManifestEntry> {
  for (let at = 0; at < count; at += 2) {
    const { uri, name, size } = fileAt(at, count);
    yield { path: uri, baseName: name, srcDir: "s3://logs/events", size };
  }
}
