import { noJobs } from "../results/command-jobs.ts";
import { unsupportedExecutor } from "./unsupported-executor.ts";
import { printedResults } from "../results/result-source.ts";
import type { CommandKind } from "./command-kind.ts";

/** A kind that a newer version has stored: its commands wait for a node that knows it. */
export function unknownKind(name: string): CommandKind {
  return {
    name,
    plan: () => undefined,
    matches: () => false,
    runsUsersCode: true,
    needsCluster: true,
    runsOnConnect: false,
    memory: { reservedMiB: () => 0 },
    executor: {
      ...unsupportedExecutor,
      unready: () => `it waits for a node of a newer version, which knows the kind ${name}`,
    },
    results: printedResults,
    jobs: noJobs,
  };
}
