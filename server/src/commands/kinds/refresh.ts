import type { ResultRenderer } from "../../engines/arrow-result/result-renderer.ts";
import { noJobs } from "../results/command-jobs.ts";
import { refreshExecutor } from "../refresh/refresh-executor.ts";
import type { RefreshServices } from "../refresh/refresh-run.ts";
import { tableResults } from "../results/result-source.ts";
import { isNativeRefresh, isRefresh, planRefresh } from "../submission/hive.ts";
import type { CommandKind } from "./command-kind.ts";

export interface RefreshParts extends RefreshServices {
  readonly renderer: ResultRenderer;
}

/** For a batch, the pages of its listing and the names of the partitions in an external metastore together. */
const MEMORY_MIB = 64;

/** Refreshes of tables by the catalog: in this process, without Spark. */
export function refreshKind({ renderer, ...services }: RefreshParts): CommandKind {
  return {
    name: "refresh",
    plan: async (body, account) => (isRefresh(body) ? planRefresh(body, await account.refreshEngine()) : undefined),
    matches: isNativeRefresh,
    runsUsersCode: false,
    needsCluster: false,
    runsOnConnect: true,
    memory: { reservedMiB: () => MEMORY_MIB },
    executor: refreshExecutor(services),
    results: tableResults(renderer),
    jobs: noJobs,
  };
}
