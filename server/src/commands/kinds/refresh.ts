import type { ResultRenderer } from "../../engines/arrow-result/result-renderer.ts";
import { noJobs } from "../results/job-source.ts";
import { refreshExecutor } from "../refresh/refresh-executor.ts";
import type { RefreshServices } from "../refresh/refresh-run.ts";
import { tableResults } from "../results/result-source.ts";
import { isNativeRefresh, isRefresh, planRefresh } from "../submission/hive.ts";
import type { CommandKind } from "./command-kinds.ts";

export interface RefreshParts extends RefreshServices {
  readonly renderer: ResultRenderer;
}

/** Enough for one batch of partitions, the pages of its listing, and the partition names of an external metastore. */
const MEMORY_MIB = 64;

/** Table refreshes by the catalog: they run in this process, without Spark. */
export function refreshKind({ renderer, ...services }: RefreshParts): CommandKind {
  return {
    name: "refresh",
    async plan(body, account) {
      const isOurs = isRefresh(body) && (await account.refreshEngine()) === "native";
      return isOurs ? planRefresh(body, "native") : undefined;
    },
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
