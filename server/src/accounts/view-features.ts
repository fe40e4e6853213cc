import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import type { Database } from "../db/database.ts";
import { Id } from "../http/schema.ts";
import { FeatureList } from "./feature-list.ts";
import { featureSwitches } from "./set-features.ts";
import { readFeatures } from "./store/features.ts";

/** Shows the features of an account. For operators. */
export const viewFeatures = operation({
  id: "account_features_view",
  summary: "View the feature switches of an account",
  tag: "Operator",
  method: "GET",
  paths: { v2: "/accounts/:account_id/features" },
  access: { permission: "operator" },
  params: Type.Object({ account_id: Id }),
  reply: FeatureList,
  find: ({ params }, { db }: { db: Database }) => readFeatures(db.system, params.account_id),
  handle: async ({ found }) => ({ features: featureSwitches(found) }),
});
