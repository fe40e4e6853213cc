import { mkdir } from "node:fs/promises";
import { UNLIMITED } from "../../processes/runner/allowance.ts";
import { followLease } from "../../processes/runner/lease.ts";
import type { SparkSetUp } from "../../engines/spark-home/spark-set-up.ts";
import { readBootId } from "../../lib/process-table.ts";
import type { Executor, CommandCluster, CommandRun } from "../execution/executor.ts";
import { WarmServers, type WarmServersOptions } from "../warm-servers/warm-servers.ts";
import type { QueryLimits, SqlRun } from "./sql-run.ts";
import { findResult, removeOtherResults } from "../../engines/arrow-result/spool-result.ts";
import { removeTree } from "../../processes/tree-removal/remove-tree.ts";
import type { SparkScope } from "../execution/spark-scope.ts";
import type { SqlHandle } from "./script-state.ts";
import type { RunnableCommand } from "../store/command-row.ts";

interface SqlOptions extends Omit<WarmServersOptions, "spark"> {
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
  const unready = (scope: CommandCluster): string | null => {
    const { state, detail } = spark?.current() ?? NOT_SET_UP;
    // A remote server needs no Spark on this node.
    if (state === "ready" || servers.isRemote(scope)) return null;
    return state === "installing" ? `Spark is being set up: ${detail}` : `Spark cannot be set up: ${detail}`;
  };
  const bootId = await readBootId();
  return {
    servers,
    executor: sqlExecutor({ servers, unready, limits: limitsOf(options, bootId), bootId }),
  };
}

function limitsOf(
  options: Pick<
    SqlOptions,
    "timeoutCheckSeconds" | "logLimitMiB" | "allowance" | "leaseFile" | "leaseSeconds" | "sandbox"
  >,
  bootId: string,
): QueryLimits {
  const { timeoutCheckSeconds: checkSeconds, logLimitMiB, allowance = UNLIMITED, leaseFile, leaseSeconds } = options;
  const lease = leaseFile === null ? undefined : followLease(leaseFile, bootId);
  return {
    checkSeconds,
    logBytes: logLimitMiB * 1024 * 1024,
    outputBytes: allowance.outputBytes,
    sandbox: options.sandbox,
    isLeaseOver: () => lease !== undefined && lease.ageMs() >= leaseSeconds * 1000,
  };
}

interface SqlExecutorOptions {
  readonly servers: WarmServers;
  readonly unready: Executor["unready"];
  readonly limits: QueryLimits;
  /** The boot id of the machine now. */
  readonly bootId: string;
}

/** Statements count from 0. */
const NONE = -1;
/** Read by the interceptor in the server (`jvm/connect/PoolInterceptor.scala`); as bytes, since a name may be any text. */
const POOL_HEADER = "headgate-pool-bin";

/** Runs queries on the warm server of their scope. They have no process of their own. */
function sqlExecutor({ servers, unready, limits, bootId }: SqlExecutorOptions): Executor {
  // Loaded with the first query, because the Spark Connect client takes a tenth of an idle server's memory.
  const runOf = async (run: CommandRun): Promise<SqlRun> => {
    const { SqlRun } = await import("./sql-run.ts");
    const { pool } = run.command;
    const scope = scopeOf(run.command);
    return new SqlRun(
      run,
      { acquire: (onWait) => servers.acquire(scope, onWait), reacquire: (name) => servers.reacquire(name, scope) },
      { headers: pool === null ? {} : { [POOL_HEADER]: pool }, limits, bootId },
    );
  };
  return {
    unready,
    async prepare(run) {
      await removeTree(run.files.folder);
      await mkdir(run.files.folder, { recursive: true, mode: 0o711 });
      return { spawn: () => runOf(run) };
    },
    async adopt(run, handle) {
      const live = await runOf(run);
      await live.adopt(handle as Partial<SqlHandle>); // an older version may have stored it
      return live;
    },
    async tidy({ files: { folder } }) {
      // Removes the spools of statements that were not finished.
      await removeOtherResults(folder, (await findResult(folder))?.statement ?? NONE);
    },
  };
}

function scopeOf({ accountId, clusterId, appId }: RunnableCommand): SparkScope {
  return { accountId, clusterId, appId };
}
