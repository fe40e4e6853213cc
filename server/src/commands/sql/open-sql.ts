import { UNLIMITED } from "../../engines/runner/allowance.ts";
import { followLease } from "../../engines/runner/lease.ts";
import type { SparkSetUp } from "../../engines/spark-home/spark-set-up.ts";
import { readBootId } from "../../lib/process-table.ts";
import type { Executor, CommandCluster } from "../execution/executor.ts";
import { WarmServers, type WarmServersOptions } from "../warm-servers/warm-servers.ts";
import type { QueryLimits } from "./sql-run.ts";
import { sqlExecutor } from "./sql-executor.ts";

export interface SqlOptions extends Omit<WarmServersOptions, "spark"> {
  /** Undefined: this node has no Spark, so queries wait, except for those of remote servers. */
  readonly spark: SparkSetUp | undefined;
  readonly timeoutCheckSeconds: number;
  readonly logLimitMiB: number;
}

export interface SqlService {
  readonly executor: Executor;
  readonly servers: WarmServers;
}

const NOT_SET_UP = { state: "failed", detail: "Spark is not set up on this node" } as const;

/** Opens the warm servers of this node, leftover ones included, and the executor that runs queries on them. */
export async function openSql({ spark, ...options }: SqlOptions): Promise<SqlService> {
  const servers = new WarmServers({ ...options, spark: spark ?? { current: () => NOT_SET_UP } });
  await servers.recover();
  const unready = (place: CommandCluster): string | null => {
    const { state, detail } = spark?.current() ?? NOT_SET_UP;
    // A remote server needs no Spark on this node.
    if (state === "ready" || servers.isRemote(place)) return null;
    return state === "installing" ? `Spark is being set up: ${detail}` : `Spark cannot be set up: ${detail}`;
  };
  const bootId = await readBootId();
  return {
    servers,
    executor: sqlExecutor({ servers, unready, limits: limitsOf(options, bootId), bootId }),
  };
}

function limitsOf(
  options: Pick<SqlOptions, "timeoutCheckSeconds" | "logLimitMiB" | "allowance" | "leaseFile" | "leaseSeconds">,
  bootId: string,
): QueryLimits {
  const { timeoutCheckSeconds: checkSeconds, logLimitMiB, allowance = UNLIMITED, leaseFile, leaseSeconds } = options;
  const lease = leaseFile === null ? undefined : followLease(leaseFile, bootId);
  return {
    checkSeconds,
    logBytes: logLimitMiB * 1024 * 1024,
    outputBytes: allowance.outputBytes,
    isLeaseOver: () => lease !== undefined && lease.ageMs() >= leaseSeconds * 1000,
  };
}
