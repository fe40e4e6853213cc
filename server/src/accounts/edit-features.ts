import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import type { Database } from "../db/database.ts";
import { Id } from "../http/schema.ts";
import { FeatureList } from "./feature-list.ts";
import { setFeatures } from "./set-features.ts";
import { readFeatures } from "./store/features.ts";

/** Enables or disables features of an account; others are unchanged. For operators. */
export const editFeatures = operation({
  id: "account_features_edit",
  summary: "Enable or disable features of an account",
  tag: "Operator",
  method: "PUT",
  paths: { v2: "/accounts/:account_id/features" },
  access: { permission: "operator" },
  params: Type.Object({ account_id: Id }),
  body: Type.Object({
    features: Type.Unsafe<Record<string, boolean>>({
      type: "object",
      additionalProperties: Type.Boolean(),
      description: "Feature names and whether they are enabled",
      examples: [{ aggressive_downscaling: true }],
    }),
  }),
  example: { body: { features: { aggressive_downscaling: true } } },
  reply: FeatureList,
  find: ({ params }, { db }: { db: Database }) => readFeatures(db.system, params.account_id),

  async handle({ params, body, caller, change }) {
    return change(async (tx, audit) => {
      audit.object = `account/${params.account_id}`;
      return { features: await setFeatures(tx, params.account_id, body.features, caller) };
    }, "system");
  },
});
