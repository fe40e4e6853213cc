import { Type, type Static } from "typebox";
import { Nullable, OneOf } from "../../http/schema.ts";
import { invalid, notFound } from "../../lib/fault.ts";
import { findStanding } from "../members/store.ts";
import { operation } from "../operation.ts";
import { PathReference, parseReference } from "../reference.ts";
import { authorise } from "./authorise.ts";
import type { JudgedAction, Judgement } from "./judgement.ts";
import type { WithObjectFinders } from "./object-finder.ts";
import { objectInRequest, SourceFields } from "./object-in-request.ts";
import { OBJECT_PERMISSIONS, objectPermission } from "./object-permissions.ts";
import { SOURCE_TYPES, type ObjectType, type PolicySource } from "./policy.ts";

const EXPLAINED_TYPES = [...SOURCE_TYPES, "folder"] as const satisfies readonly ObjectType[];
const ACTIONS = ["read", "update", "write", "move", "delete", "start", "terminate", "manage"] as const;

const Explanation = Type.Object({
  source_type: OneOf(EXPLAINED_TYPES),
  source_id: Type.Integer(),
  action: OneOf(ACTIONS),
  user: Type.Object({ id: Type.Integer(), email: Type.String() }),
  allowed: Type.Boolean(),
  decided_by: OneOf(["state", "system-admin", "owner", "policy", "home", "table"], {
    description:
      "state: the user is not active. system-admin, owner: always allowed. policy: see policy. home: only a policy " +
      "can allow writing in another member's folders. table: the permission table, see permission",
  }),
  policy: Nullable(
    Type.Object({
      source_type: Type.String({ description: "The object, folder or root whose policy decided" }),
      source_id: Type.Integer(),
      element: Type.Integer({ description: "The position of the deciding element, counted from 0" }),
      access: OneOf(["allow", "deny"]),
      action: Type.String({
        description:
          "The action that was looked up: read, if a denied read decides; in a folder's policy, write for update, " +
          "move and delete",
      }),
      matched: OneOf(["everyone", "group", "user"]),
      svc_groups: Type.Array(Type.Integer(), { description: "The groups of the user that the element names" }),
    }),
  ),
  permission: Nullable(
    Type.Object(
      { groups: Type.Array(Type.String()), role: Type.String() },
      { description: "The row of the permission table" },
    ),
  ),
});

export const explainAccess = operation({
  id: "access_explain",
  summary: "Explain why a user may or may not use an object",
  description:
    "Says whether `user` may do `action` with the object, and what decides. Without `user` it explains the caller's " +
    "own rights, and the caller must be allowed to read the object. With `user`, the caller must be allowed to set " +
    "its policy. The action `manage` is setting the policy; `move` is renaming or moving a folder.",
  tag: "Policies",
  method: "GET",
  paths: { v2: "/access/explain" },
  access: {
    permission: OBJECT_PERMISSIONS.cluster.read,
    alternatives: (["note", "scheduler", "environment", "folder"] as const).map(
      (type) => OBJECT_PERMISSIONS[type].read,
    ),
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
    const rows = OBJECT_PERMISSIONS[named.type];
    const isOwn = fields.user === undefined;
    return {
      ...named,
      permission: isOwn ? rows.read : { ...rows.manage, action: "set-policy" as const },
    };
  },

  async handle({ found: { type, id, policyObject: object }, query, caller, reader }) {
    if (object === undefined) throw notFound();
    const row = objectPermission(type, query.action);
    if (row === undefined) {
      const actions = Object.keys(OBJECT_PERMISSIONS[type]).join(", ");
      throw invalid("action", `must be one of ${actions} if source_type is ${type}`);
    }
    const user = await findStanding(reader, query.user === undefined ? idOf(caller) : parseReference(query.user));
    if (user === undefined) throw invalid("user", "must be the id or e-mail of a user of the account");
    const action: JudgedAction = query.action === "manage" ? "set-policy" : query.action;
    const subject = { caller: user, standing: { groupIds: user.groupIds, absentSources: new Set<PolicySource>() } };
    const judgement = await authorise(reader, subject, { object, action, row });
    const isActive = user.state === "active";
    return {
      source_type: type,
      source_id: id,
      action: query.action,
      user: { id: user.membershipId, email: user.email },
      allowed: isActive && judgement.isAllowed,
      decided_by: isActive ? judgement.by : ("state" as const),
      policy: isActive ? decidingPolicy(judgement, user.groupIds) : null,
      permission: isActive && judgement.by === "table" ? { groups: [...row.groups], role: row.role } : null,
    };
  },
});

const idOf = ({ membershipId }: { membershipId: number }) => ({ id: membershipId, name: null });

function decidingPolicy({ decided }: Judgement, groupIds: ReadonlySet<number>): Static<typeof Explanation>["policy"] {
  if (decided === undefined) return null;
  const { link, element, access, action, subject } = decided;
  const named = subject === "group" ? (link.policy[element]?.groups ?? []) : [];
  return {
    source_type: link.source,
    source_id: link.sourceId,
    element,
    access,
    action,
    matched: subject,
    svc_groups: named.filter((id) => groupIds.has(id)),
  };
}
