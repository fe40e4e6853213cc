import { Type } from "typebox";
import { OneOf } from "../../http/schema.ts";
import { invalid } from "../../lib/fault.ts";
import type { Caller } from "../caller.ts";
import { findPrincipal } from "../members/store.ts";
import { operation } from "../operation.ts";
import type { PermissionRow } from "../permission.ts";
import { PathReference, parseReference } from "../reference.ts";
import { authorise } from "./authorise.ts";
import { ExplanationFields, explanationOf } from "./explanation.ts";
import type { AuthorisedAction } from "./access-decision.ts";
import type { WithObjectFinders } from "./object-finder.ts";
import { objectInRequest, SourceFields } from "./object-in-request.ts";
import { OBJECT_PERMISSIONS, objectPermission, submitRule } from "./object-permissions.ts";
import { SOURCE_TYPES, type ObjectType, type PolicySource } from "./policy.ts";

const EXPLAINED_TYPES = [...SOURCE_TYPES, "folder"] as const satisfies readonly ObjectType[];
const ACTIONS = ["read", "update", "write", "move", "delete", "start", "submit", "terminate", "manage"] as const;

const Explanation = Type.Object({
  source_type: OneOf(EXPLAINED_TYPES),
  source_id: Type.Integer(),
  action: OneOf(ACTIONS),
  ...ExplanationFields,
});

export const explainAccess = operation({
  id: "access_explain",
  summary: "Explain why a user may or may not use an object",
  description:
    "Says whether `user` may do `action` with the object, and what decides. Without `user` it explains the caller's " +
    "own rights, and the caller must be allowed to read the object. With `user`, the caller must be allowed to set " +
    "its policy. The action `manage` is setting the policy; `submit` is running commands on a cluster, `start` is " +
    "starting it; `move` is renaming or moving a folder.",
  tag: "Policies",
  method: "GET",
  paths: { v2: "/access/explain" },
  access: {
    permission: OBJECT_PERMISSIONS.cluster.read,
    alternatives: [
      ...(["note", "scheduler", "environment", "folder"] as const).map((type) => OBJECT_PERMISSIONS[type].read),
      ...EXPLAINED_TYPES.map(maySetPolicy),
    ],
    object: { type: EXPLAINED_TYPES, action: "read" },
  },
  query: Type.Object({
    source_id: SourceFields.source_id,
    source_type: OneOf(EXPLAINED_TYPES, { examples: ["cluster"] }),
    action: OneOf(ACTIONS),
    user: Type.Optional({ ...PathReference, description: "The id or e-mail of a user of the account" }),
  }),
  example: { query: { source_type: "cluster", action: "read" } },
  reply: Explanation,

  async find({ given, reader }, services: WithObjectFinders) {
    const fields = given();
    const named = await objectInRequest(fields, EXPLAINED_TYPES, reader, services);
    const isOwn = fields.user === undefined;
    return { ...named, permission: isOwn ? OBJECT_PERMISSIONS[named.type].read : maySetPolicy(named.type) };
  },

  async handle({ found: { type, id, policyObject: object, missing }, query, caller, reader }) {
    if (object === undefined) throw missing();
    const rule = ruleOf(type, query.action, caller);
    if (rule === undefined) {
      const actions = Object.keys(OBJECT_PERMISSIONS[type]).join(", ");
      throw invalid("action", `must be one of ${actions} if source_type is ${type}`);
    }
    const user = await findPrincipal(reader, query.user === undefined ? idOf(caller) : parseReference(query.user));
    if (user === undefined) throw invalid("user", "must be the id or e-mail of a user of the account");
    const subject = { caller: user, context: { groupIds: user.groupIds, absentSources: new Set<PolicySource>() } };
    const decision = await authorise(reader, subject, { object, ...rule });
    return { source_type: type, source_id: id, action: query.action, ...explanationOf(decision, user, rule.row) };
  },
});

/** Needed to explain the rights of others. */
function maySetPolicy(type: (typeof EXPLAINED_TYPES)[number]): PermissionRow & { action: AuthorisedAction } {
  return { ...OBJECT_PERMISSIONS[type].manage, action: "set-policy" };
}

/** Undefined: objects of the type have no such action. */
function ruleOf(
  type: ObjectType,
  action: (typeof ACTIONS)[number],
  { features }: Caller,
): { action: AuthorisedAction; row: PermissionRow } | undefined {
  const row = objectPermission(type, action);
  if (row === undefined) return undefined;
  switch (action) {
    case "manage":
      return { action: "set-policy", row };
    case "submit":
      return submitRule(features);
    default:
      return { action, row };
  }
}

const idOf = ({ membershipId }: Caller) => ({ id: membershipId, name: null });
