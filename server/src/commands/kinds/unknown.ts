import { noJobs } from "../results/command-jobs.ts";
import { unsupportedExecutor } from "./unsupported-executor.ts";
import { printedResults } from "../results/result-source.ts";
import type { CommandKind } from "./command-kind.ts";

/** A kind that only newer versions know: its commands wait for a node that runs one. */
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
      unready: () =>
        `it waits for a node with a newer version of Headgate: this version cannot run commands of kind ${name}`,
    },
    results: printedResults,
    jobs: noJobs,
  };
}
