import type { KeyRing } from "../lib/key-ring.ts";
import type { EngineRules } from "./engine.ts";
import { ClusterLifecycle, type LifecycleOptions } from "./lifecycle.ts";

/** The services that `app` passes to the operations of this slice. */
export interface ClusterServices {
  keys: KeyRing;
  clusterRules: EngineRules;
  clusterLifecycle: ClusterLifecycle;
  hasSchema: HasSchema;
}

/** Whether the metastore of the account has a schema of this name. */
export type HasSchema = (accountId: number, schema: string) => Promise<boolean>;

export function clusterServices(
  clusterRules: EngineRules,
  hasSchema: HasSchema,
  options: LifecycleOptions,
): ClusterServices {
  return { keys: options.keys, clusterRules, clusterLifecycle: new ClusterLifecycle(options), hasSchema };
}
