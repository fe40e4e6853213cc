import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import type { PlanContext, PlanOptions } from "../../src/engines/s3-copy/plan/plan-context.ts";
import { planOutputs, type CopyPlan } from "../../src/engines/s3-copy/plan/plan-outputs.ts";
import type { SourceFile } from "../../src/engines/s3-copy/plan/planned-output.ts";

/** Keeps names and selects everything. */
export const plainOptions: PlanOptions = {
  srcPattern: null,
  groupBy: null,
  targetSizeMiB: null,
  outputCodec: null,
  startingIndex: null,
  srcPrefixesFile: null,
  copyFromManifest: false,
};

export function sourceFile(name: string, more: Partial<SourceFile> = {}): SourceFile {
  return { uri: `s3://b/in/${name}`, name, size: 1, modifiedMs: 5, etag: '"e 1"', storageClass: null, ...more };
}

export async function* each<T>(items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

export interface CopyPlans {
  readonly scratchFolder: string;
  /** Plans a copy to S3 of sources that are listed in pages of three. */
  readonly plan: (
    sources: readonly SourceFile[],
    options?: Partial<PlanOptions>,
    context?: Partial<PlanContext>,
  ) => CopyPlan;
}

export function useCopyPlans(): CopyPlans {
  const scratchFolder = mkdtempSync(join(tmpdir(), "headgate-plan-"));
  afterAll(() => rmSync(scratchFolder, { recursive: true }));
  return {
    scratchFolder,
    plan: (sources, options = {}, context = {}) =>
      planOutputs(
        pagesOf(sources, 3),
        { ...plainOptions, ...options },
        { scratchFolder, destinationScheme: "s3", ...context },
      ),
  };
}

async function* pagesOf(sources: readonly SourceFile[], pageSize: number): AsyncGenerator<readonly SourceFile[]> {
  for (let at = 0; at < sources.length; at += pageSize) yield sources.slice(at, at + pageSize);
}
