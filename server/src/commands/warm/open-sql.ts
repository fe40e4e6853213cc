import type { SparkSetUp } from "../../engines/spark-home/spark-set-up.ts";
import type { ProgramIsolation } from "../program-isolation.ts";
import type { SharedMemory } from "../queue/dispatcher.ts";
import type { Executor } from "../queue/executor.ts";
import { sqlExecutor } from "../sql/sql-executor.ts";
import { WarmServers, type WarmServersOptions } from "./warm-servers.ts";

export interface SqlOptions extends Omit<WarmServersOptions, "spark"> {
  /** Undefined: queries wait for ever. */
  readonly spark: SparkSetUp | undefined;
  readonly isolation: ProgramIsolation;
  readonly timeoutCheckSeconds: number;
}

export interface SqlService {
  readonly executor: Executor;
  readonly servers: WarmServers;
  readonly memory: SharedMemory;
}

const NOT_SET_UP = { state: "failed", detail: "Spark is not set up on this node" } as const;

/** The warm servers of this node, those of before included, and what runs queries on them. */
export async function openSql({ spark, isolation, timeoutCheckSeconds, ...options }: SqlOptions): Promise<SqlService> {
  const servers = new WarmServers({ ...options, spark: spark ?? { current: () => NOT_SET_UP } });
  await servers.adopt();
  const unready = (): string | null => {
    const { state, detail } = spark?.current() ?? NOT_SET_UP;
    if (state === "ready") return null;
    return state === "installing" ? `Spark is being set up: ${detail}` : `Spark cannot be set up: ${detail}`;
  };
  return {
    servers,
    executor: sqlExecutor({ servers, isolation, unready, checkSeconds: timeoutCheckSeconds }),
    memory: { reservedMiB: () => servers.reservedMiB(), evict: (neededMiB) => servers.evict(neededMiB) },
  };
}
