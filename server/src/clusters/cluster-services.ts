import type { KeyRing } from "../lib/key-ring.ts";
import type { EngineRules } from "./engine.ts";

/** What the operations of this slice need of `app`. */
export interface ClusterServices {
  keys: KeyRing;
  clusterRules: EngineRules;
}
