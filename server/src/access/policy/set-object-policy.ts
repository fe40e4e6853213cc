import { Type } from "typebox";
import { OneOf } from "../../http/schema.ts";
import { invalid } from "../../lib/fault.ts";
import { operation } from "../operation.ts";
import type { WithObjectFinders } from "./object-finder.ts";
import { objectInRequest, SourceFields } from "./object-in-request.ts";
import { OBJECT_PERMISSIONS } from "./object-permissions.ts";
import { parsePolicy } from "./parse-policy.ts";
import { PolicyElementReply, PolicyInput, setPolicy } from "./policy-changes.ts";
import { SOURCE_TYPES } from "./policy.ts";

export const ObjectPolicyReply = Type.Object({
  status: Type.Literal("success"),
  source_id: Type.Integer(),
  source_type: OneOf(SOURCE_TYPES),
  policy: Type.Array(PolicyElementReply),
});

/** §4.14. The permission depends on the type of the object, so `find` returns it. */
export const setObjectPolicy = operation({
  id: "object_policy_set",
  summary: "Set the policy of an object",
  description:
    "Replaces the whole policy; an empty array removes it. Allowed for the owner, system-admins, and users whom the " +
    "policy allows manage; also for users with a role that allows manage on the type, unless the policy denies them " +
    "manage, read or update.",
  tag: "Policies",
  method: "PUT",
  paths: { "v1.2": "/object_policy/policy" },
  access: {
    permission: OBJECT_PERMISSIONS.note.manage,
    alternatives: (["cluster", "scheduler", "environment"] as const).map((type) => OBJECT_PERMISSIONS[type].manage),
    object: { type: SOURCE_TYPES, action: "set-policy" },
  },
  body: Type.Object({ ...SourceFields, policy: PolicyInput }),
  example: {
    body: {
      source_type: "cluster",
      source_id: "the-id-of-the-cluster",
      policy: '[{"access":"deny","action":["update","delete"]}]',
    },
  },
  reply: ObjectPolicyReply,

  async find({ given, reader }, services: WithObjectFinders) {
    const fields = given();
    const named = await objectInRequest(fields, SOURCE_TYPES, reader, services);
    // No objects of this type exist yet: an invalid policy is 422 nevertheless, a valid one 404.
    if (named.finder === undefined) {
      const { policy } = fields;
      if (typeof policy !== "string" && !Array.isArray(policy)) throw invalid("policy", "must be a string or an array");
      parsePolicy(policy, named.type);
    }
    return { ...named, permission: OBJECT_PERMISSIONS[named.type].manage };
  },

  async handle({ found: { type, id, finder, policyObject, missing }, body, change }) {
    const policy = parsePolicy(body.policy, type);
    return change(async (tx, audit) => {
      if (policyObject === undefined || (await finder?.lockForPolicy(tx, id, policy.length > 0)) !== true) {
        throw missing();
      }
      const shown = await setPolicy(tx, audit, policyObject, policy);
      return { status: "success" as const, source_id: id, source_type: type, policy: shown };
    });
  },
});
