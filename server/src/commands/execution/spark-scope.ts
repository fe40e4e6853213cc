import type { Contribution } from "../../engines/spark-home/contribution.ts";

/** The account, cluster and app that a Spark JVM belongs to. Commands of the same scope share a warm server. */
export interface SparkScope {
  readonly accountId: number;
  readonly clusterId: number;
  /** Null: it belongs to no app. */
  readonly appId: number | null;
}

/** A JVM of a scope, and the generation of the app that it was started for. */
export interface ScopedProcess {
  readonly scope: SparkScope;
  readonly generation: number;
}

/**
 * The current configuration of the scope's JVMs, from the account, its metastore, the cluster and the app. It may have to
 * be prepared: `onWait` is called with what the caller waits for, as text for users. If it throws, nothing is prepared.
 */
export type ContributionsOf = (scope: SparkScope, onWait?: (text: string) => void) => Promise<Contribution>;

export function scopeKey({ accountId, clusterId, appId }: SparkScope): string {
  return `${accountId}/${clusterId}/${appId ?? ""}`;
}
