import type { Queryable } from "../../db/database.ts";
import { listEndedPlaces } from "../store/in-use.ts";
import type { SparkPlace } from "../execution/spark-place.ts";

/** Processes of this node that wait for commands of a place. */
export interface PlaceProcesses {
  /** The places of unused processes, in any order; a place may occur several times. */
  unusedPlaces(): SparkPlace[];
  /** Ends the unused processes of places that match. */
  endUnused(matches: (place: SparkPlace) => boolean): Promise<void>;
}

/**
 * Ends the unused processes of clusters and apps that have ended. One node ends a cluster or an app itself; every other
 * node finds out here.
 */
export async function endUnusedProcesses(system: Queryable, kinds: readonly PlaceProcesses[]): Promise<void> {
  const waiting = kinds.flatMap((kind) => kind.unusedPlaces());
  if (waiting.length === 0) return;
  const ended = new Set(
    (await listEndedPlaces(system, waiting)).map(({ clusterId, appId }) => `${clusterId}/${appId}`),
  );
  if (ended.size === 0) return;
  for (const kind of kinds) await kind.endUnused(({ clusterId, appId }) => ended.has(`${clusterId}/${appId}`));
}
