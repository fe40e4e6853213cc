import { mkdir } from "node:fs/promises";
import { findResult, removeOtherResults } from "../../engines/arrow-result/spool-result.ts";
import { removeTree } from "../../lib/remove-tree.ts";
import type { Executor, CommandRun } from "../execution/executor.ts";
import type { SparkPlace } from "../execution/spark-place.ts";
import type { WarmServers } from "../warm-servers/warm-servers.ts";
import type { SqlHandle } from "./script-state.ts";
import type { QueryLimits, SqlRun } from "./sql-run.ts";
import type { RunnableCommand } from "../store/command-row.ts";

export interface SqlExecutorOptions {
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

/** Runs queries on the warm server of their place. They have no process of their own. */
export function sqlExecutor({ servers, unready, limits, bootId }: SqlExecutorOptions): Executor {
  // Loaded with the first query, because the Spark Connect client takes a tenth of an idle server's memory.
  const runOf = async (run: CommandRun): Promise<SqlRun> => {
    const { SqlRun } = await import("./sql-run.ts");
    const { pool } = run.command;
    const place = placeOf(run.command);
    return new SqlRun(
      run,
      { acquire: () => servers.acquire(place), reacquire: (name) => servers.reacquire(name, place) },
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

function placeOf({ accountId, clusterId, appId }: RunnableCommand): SparkPlace {
  return { accountId, clusterId, appId };
}
