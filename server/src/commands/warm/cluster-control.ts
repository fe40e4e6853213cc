import { setTimeout as delay } from "node:timers/promises";
import type { Queryable } from "../../db/database.ts";
import { Fault } from "../../lib/fault.ts";
import type { Log } from "../../lib/log.ts";
import { runsOnCluster, waitsForCluster } from "../store/in-use.ts";
import type { SparkPlace } from "../execution/spark-place.ts";
import type { PlaceProcesses } from "./end-ended-places.ts";
import type { WarmServers } from "./warm-servers.ts";

export interface ControlOptions {
  readonly db: Queryable;
  readonly servers: WarmServers;
  /** The drivers that wait for programs. */
  readonly standbys: Pick<PlaceProcesses, "endUnused">;
  readonly log: Log;
  /** The queue looks at what runs. */
  readonly wake: () => void;
}

interface ControlledPlace {
  readonly id: number;
  readonly accountId: number;
  readonly engine: { readonly type: string };
}

const LOOK_EVERY_MS = 100;

/**
 * What starting and ending a cluster does. Commands start their own JVMs, so a cluster of ours is up at once; one that
 * nobody waits for was started by a person, who wants the next query to be quick. Of somebody else's server it is asked
 * whether it answers. The end of a cluster ends its runs by the queue of each node, which sees its state.
 */
export function clusterControl({ db, servers, standbys, log, wake }: ControlOptions) {
  return {
    async start({ id: clusterId, accountId, engine }: ControlledPlace, signal: AbortSignal): Promise<void> {
      const place: SparkPlace = { accountId, clusterId, appId: null };
      if (engine.type === "connect") {
        await answers(servers, place);
      } else if (!(await waitsForCluster(db, clusterId)) && !signal.aborted) {
        servers
          .startAhead(place)
          .catch((error: unknown) => log.warn({ err: error, place }, "no server was started ahead"));
      }
    },

    async terminate({ id }: ControlledPlace, signal: AbortSignal): Promise<void> {
      wake();
      while (await runsOnCluster(db, id)) await delay(LOOK_EVERY_MS, undefined, { signal });
      const isHere = ({ clusterId }: SparkPlace): boolean => clusterId === id;
      await Promise.all([servers.stop(isHere), standbys.endUnused(isHere)]);
    },
  };
}

async function answers(servers: WarmServers, place: SparkPlace): Promise<void> {
  const { server, release } = await servers.acquire(place);
  try {
    await server.ready;
  } catch (error) {
    throw new Fault("unavailable", "its Spark Connect server does not answer, or refuses the token", { cause: error });
  } finally {
    release();
  }
}
