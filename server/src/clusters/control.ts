import type { Secret } from "../lib/secret.ts";
import type { ClusterSettings } from "./cluster-settings.ts";

/** A cluster without the fields that its control does not need. */
export interface ControlledCluster extends Pick<ClusterSettings, "engine" | "sparkConfig" | "pools"> {
  readonly id: number;
  readonly accountId: number;
  /** The token of a connect or standalone engine. */
  readonly token: Secret | null;
}

/**
 * Starts and terminates clusters; passed in by `app`. The lifecycle decides when, and writes every state. Each method
 * is called on one node and acts for all nodes. Both must be repeatable, also after a partial run of a node that died.
 * `signal` is aborted when the opposite is requested or this node stops; the next call completes what is left.
 */
export interface ClusterControl {
  /**
   * Resolves when commands can run on the cluster. The public message of a `Fault` is stored, and the cluster is DOWN.
   */
  start(cluster: ControlledCluster, signal: AbortSignal): Promise<void>;
  /** Ends all JVMs of the cluster; commands that still run end as `error`. Retried when it fails. */
  terminate(cluster: ControlledCluster, signal: AbortSignal): Promise<void>;
}
