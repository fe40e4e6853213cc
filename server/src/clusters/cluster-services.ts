import type { KeyRing } from "../lib/key-ring.ts";
import type { EngineRules } from "./engine.ts";
import type { HasSchema } from "./table-formats.ts";
import { ClusterLifecycle, type LifecycleOptions } from "./lifecycle.ts";

/** The services that `app` passes to the operations of this slice. */
export interface ClusterServices {
  keys: KeyRing;
  clusterRules: EngineRules;
  clusterLifecycle: ClusterLifecycle;
  hasSchema: HasSchema;
}

export function clusterServices(
  clusterRules: EngineRules,
  hasSchema: HasSchema,
  options: LifecycleOptions,
): ClusterServices {
  return { keys: options.keys, clusterRules, clusterLifecycle: new ClusterLifecycle(options), hasSchema };
}
