import { setTimeout as delay } from "node:timers/promises";
import type { Queryable } from "../../db/database.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import { runsOnCluster, waitsForCluster, listEndedScopes } from "../store/in-use.ts";
import type { SparkScope } from "../execution/spark-scope.ts";
import type { WarmServers } from "./warm-servers.ts";

interface ControlOptions {
  readonly db: Queryable;
  readonly servers: WarmServers;
  /** The drivers that wait for programs. */
  readonly standbys: Pick<ScopedProcesses, "endUnused">;
  readonly log: Log;
  /** Makes the queue check its runs. */
  readonly wake: () => void;
}

interface ControlledCluster {
  readonly id: number;
  readonly accountId: number;
  readonly engine: { readonly type: string };
}

const POLL_INTERVAL_MS = 100;
const MAX_REASON_LENGTH = 500;

/**
 * Starts and terminates clusters. Commands start their own JVMs, so a cluster is up at once. If no command waits for it, a
 * user has started it, and a warm server is started ahead of the first query. A connect cluster is up when its remote server
 * answers. When a cluster is terminated, the queue of each node sees its state and ends its runs.
 */
export function clusterControl({ db, servers, standbys, log, wake }: ControlOptions) {
  return {
    async start({ id: clusterId, accountId, engine }: ControlledCluster, signal: AbortSignal): Promise<void> {
      const scope: SparkScope = { accountId, clusterId, appId: null };
      if (engine.type === "connect") {
        await answers(servers, scope);
      } else if (!(await waitsForCluster(db, clusterId)) && !signal.aborted) {
        servers
          .startAhead(scope)
          .catch((error: unknown) =>
            log.warn({ err: error, place: scope }, "a warm server could not be started ahead of the first query"),
          );
      }
    },

    async terminate({ id }: ControlledCluster, signal: AbortSignal): Promise<void> {
      wake();
      while (await runsOnCluster(db, id)) await delay(POLL_INTERVAL_MS, undefined, { signal });
      const isHere = ({ clusterId }: SparkScope): boolean => clusterId === id;
      await Promise.all([servers.stop(isHere), standbys.endUnused(isHere)]);
    },
  };
}

async function answers(servers: WarmServers, scope: SparkScope): Promise<void> {
  const { server, release } = await servers.acquire(scope);
  try {
    await server.ready;
  } catch (error) {
    const { ConnectError } = await import("../../engines/spark-connect/connect-error.ts"); // not in an idle server
    const isReached = error instanceof ConnectError && error.kind === "failed";
    const reason = isReached
      ? error.message.slice(0, MAX_REASON_LENGTH)
      : "its Spark Connect server does not answer, or refuses the token";
    throw new Fault("unavailable", reason, { cause: error });
  } finally {
    release();
  }
}

/** Processes of this node that wait for commands of a scope. */
interface ScopedProcesses {
  /** The scopes of unused processes, in any order; a scope may occur several times. */
  unusedScopes(): SparkScope[];
  /** Ends the unused processes of scopes that match. */
  endUnused(matches: (scope: SparkScope) => boolean): Promise<void>;
}

/**
 * Ends the unused processes of clusters and apps that have ended. One node ends a cluster or an app itself; every other
 * node finds out here.
 */
export async function endUnusedProcesses(system: Queryable, kinds: readonly ScopedProcesses[]): Promise<void> {
  const waiting = kinds.flatMap((kind) => kind.unusedScopes());
  if (waiting.length === 0) return;
  const ended = new Set(
    (await listEndedScopes(system, waiting)).map(({ clusterId, appId }) => `${clusterId}/${appId}`),
  );
  if (ended.size === 0) return;
  for (const kind of kinds) await kind.endUnused(({ clusterId, appId }) => ended.has(`${clusterId}/${appId}`));
}
