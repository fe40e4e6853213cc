import type { Queryable } from "../../db/database.ts";
import { listEndedPlaces } from "../store/in-use.ts";
import type { SparkPlace } from "../execution/spark-place.ts";

/** Processes of this node that wait for commands of a place. */
export interface PlaceProcesses {
  /** Of those that nobody uses, in any order and number. */
  unusedPlaces(): SparkPlace[];
  /** Settles when none is left there. */
  endUnused(matches: (place: SparkPlace) => boolean): Promise<void>;
}

/** A cluster or an app is ended on one node: what waits for its commands on the others is ended here. */
export async function endEndedPlaces(system: Queryable, kinds: readonly PlaceProcesses[]): Promise<void> {
  const waiting = kinds.flatMap((kind) => kind.unusedPlaces());
  if (waiting.length === 0) return;
  const ended = new Set(
    (await listEndedPlaces(system, waiting)).map(({ clusterId, appId }) => `${clusterId}/${appId}`),
  );
  if (ended.size === 0) return;
  for (const kind of kinds) await kind.endUnused(({ clusterId, appId }) => ended.has(`${clusterId}/${appId}`));
}
