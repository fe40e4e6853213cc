import type { CopyExecutorOptions } from "../commands/copies/copy-executor.ts";
import { CopyJournals } from "../commands/copies/copy-journals.ts";
import { copyMetrics } from "../commands/copies/copy-metrics.ts";
import { COPY_PROGRAM, placedCopyProgram } from "../commands/copies/copy-program.ts";
import { placeProgram } from "../processes/placed-program/place-program.ts";
import { startProgramSetUp } from "../processes/placed-program/program-set-up.ts";
import type { NodeParts } from "./node.ts";
import type { Sparks } from "./sparks.ts";

/** The parts that run copies on this node. Their program is placed in the cache in the background. */
export function composeCopies(
  { config, background, keys, storage, nodeId, registry, log }: NodeParts,
  { sandbox, allowance, runLimits }: Sparks,
  held: AsyncDisposableStack,
): CopyExecutorOptions {
  const { dataDir, cacheDir, allowedNetworks } = config;
  const { title } = COPY_PROGRAM;
  const place = (signal: AbortSignal, progress: Parameters<typeof placeProgram>[1]["progress"]) =>
    placeProgram(COPY_PROGRAM, { cacheDir, signal, progress });
  const setUp = held.adopt(startProgramSetUp({ title, place, log }), (each) => each.stop());
  const requests = { db: background.system, keys, storage, allowedNetworks };
  const journals = new CopyJournals({
    ...requests,
    dataDir,
    log,
    // Loaded for the first copy that fails: an HTTP client is a twentieth of an idle server's memory.
    async cleanUp(request, signal) {
      const { cleanUpCopy } = await import("../engines/s3-copy/clean-up.ts");
      return cleanUpCopy(request, signal);
    },
  });
  return {
    ...runLimits,
    ...requests,
    dataDir,
    allowance,
    sandbox,
    program: placedCopyProgram(setUp),
    journals,
    metrics: copyMetrics(registry),
    nodeId,
    log,
  };
}
