import { noJobs } from "../results/command-jobs.ts";
import { printedResults } from "../results/result-source.ts";
import type { CommandKind } from "./command-kind.ts";
import { Fault } from "../../lib/fault.ts";
import type { Executor } from "../execution/executor.ts";

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

/** Runs kinds of commands that are accepted but not implemented: each command ends as `error` with that in its log. */
export const unsupportedExecutor: Executor = {
  unready: () => null,
  needsNoDisk: true,
  prepare: () => Promise.reject(new Fault("invalid", "not supported by this version")),
  tidy: () => Promise.resolve(),
  adopt: () => Promise.reject(new Fault("invalid", "not supported by this version")),
};
