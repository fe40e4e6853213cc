import { Type } from "typebox";
import { Id, Timestamp, Nullable } from "../http/schema.ts";

const Switch = Type.Boolean();

/** `{"features":{name:bool}}`: every feature, and whether it is enabled. */
export const FeatureSwitchList = Type.Object({
  ip_whitelisting: Switch,
  aggressive_downscaling: Switch,
  data_store_catalogs: Switch,
  large_scripts: Switch,
  large_inline_content: Switch,
  script_macros: Switch,
  closed_clusters: Switch,
});

export const FeatureList = Type.Object({ features: FeatureSwitchList });

export const ListedAccountView = Type.Object({
  id: Id,
  name: Type.String(),
  plan: Type.String(),
  parent_id: Nullable(Type.Integer()),
  users: Type.Integer({ description: "Number of members in any state" }),
  features: FeatureSwitchList,
  created_at: Timestamp,
});
