import type { Secret } from "../lib/secret.ts";
import type { ClusterSettings } from "./cluster-settings.ts";

/** A cluster as whoever starts and ends it sees it. */
export interface ControlledCluster extends Pick<ClusterSettings, "engine" | "sparkConfig" | "pools"> {
  readonly id: number;
  readonly accountId: number;
  /** Of a connect engine. */
  readonly token: Secret | null;
}

/**
 * What starting and ending a cluster really does; `app` hands it in. The lifecycle decides when and writes every state.
 * Both are called on one node and speak for all of them. Both may be called again for what is done already or was left
 * half-way: the node that was at it may have died. `signal`: somebody wants the opposite now, or this node stops; what
 * it leaves behind the next call finds.
 */
export interface ClusterControl {
  /** Settles when commands can run there. A `Fault` says why they cannot, for people: the cluster is DOWN again. */
  start(cluster: ControlledCluster, signal: AbortSignal): Promise<void>;
  /** Ends every JVM of the cluster, and whatever command still runs there, as `error`. Tried again when it fails. */
  terminate(cluster: ControlledCluster, signal: AbortSignal): Promise<void>;
}
