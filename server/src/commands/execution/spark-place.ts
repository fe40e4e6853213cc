import type { Contribution } from "../../engines/spark-home/contribution.ts";

/** The account, cluster and app that a Spark JVM belongs to. Commands of the same place share a warm server. */
export interface SparkPlace {
  readonly accountId: number;
  readonly clusterId: number;
  /** Null: it belongs to no app. */
  readonly appId: number | null;
}

/** A JVM of a place, and the generation of the app that it was started for. */
export interface PlacedProcess {
  readonly place: SparkPlace;
  readonly generation: number;
}

/** The current configuration of the place's JVMs, from the account, its metastore, the cluster and the app. */
export type ContributionsOf = (place: SparkPlace) => Promise<Contribution>;

export function placeKey({ accountId, clusterId, appId }: SparkPlace): string {
  return `${accountId}/${clusterId}/${appId ?? ""}`;
}
