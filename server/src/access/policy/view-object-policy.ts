import { Type } from "typebox";
import { operation } from "../operation.ts";
import type { WithObjectFinders } from "./object-finder.ts";
import { objectInRequest, SourceFields } from "./object-in-request.ts";
import { OBJECT_PERMISSIONS } from "./object-permissions.ts";
import { shownPolicy } from "./policy-changes.ts";
import { SOURCE_TYPES } from "./policy.ts";
import { ObjectPolicyReply } from "./set-object-policy.ts";

/** §4.14. The fields come in a JSON body, or in the query. */
export const viewObjectPolicy = operation({
  id: "object_policy_view",
  summary: "View the policy of an object",
  description:
    "Users and groups that do not exist any more are left out. Allowed for users with the permission to read objects " +
    "of the type, unless the policy denies them read, and for users whom it allows manage.",
  tag: "Policies",
  method: "GET",
  paths: { "v1.2": "/object_policy/policy" },
  access: {
    permission: OBJECT_PERMISSIONS.note.read,
    alternatives: (["cluster", "scheduler", "environment"] as const).map((type) => OBJECT_PERMISSIONS[type].read),
    object: { type: SOURCE_TYPES, action: "view-policy" },
  },
  query: Type.Object(SourceFields),
  example: { query: { source_type: "cluster" } },
  reply: ObjectPolicyReply,

  async find({ given, reader }, services: WithObjectFinders) {
    const named = await objectInRequest(given(), SOURCE_TYPES, reader, services);
    return { ...named, permission: OBJECT_PERMISSIONS[named.type].read };
  },

  async handle({ found: { type, id, policyObject, missing }, reader }) {
    if (policyObject === undefined) throw missing();
    return {
      status: "success" as const,
      source_id: id,
      source_type: type,
      policy: await shownPolicy(reader, policyObject),
    };
  },
});
