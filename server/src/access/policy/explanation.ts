import { Type, type Static } from "typebox";
import { Nullable, OneOf } from "../../http/schema.ts";
import type { MemberPrincipal } from "../members/store.ts";
import type { PermissionRow } from "../permission.ts";
import type { AccessDecision } from "./access-decision.ts";

/** Whether a user may do something with an object, and what decides. Spread into the reply of an operation. */
export const ExplanationFields = {
  user: Type.Object({ id: Type.Integer(), email: Type.String() }),
  allowed: Type.Boolean(),
  decided_by: OneOf(["state", "system-admin", "owner", "policy", "home", "closed_clusters", "table"], {
    description:
      "state: the user is not active. system-admin, owner: allowed, for submit only with the permission to submit " +
      "commands. policy: see policy. home: only a policy can allow writing in another member's folders. " +
      "closed_clusters: the account has this feature, and no element about start applies to the user. table: the " +
      "permission table, see permission",
  }),
  policy: Nullable(
    Type.Object({
      source_type: Type.String({ description: "The object, folder or root whose policy decided" }),
      source_id: Type.Integer(),
      element: Type.Integer({ description: "The position of the deciding element, counted from 0" }),
      access: OneOf(["allow", "deny"]),
      action: Type.String({
        description:
          "The action that was looked up: start for submit; read, if a denied read decides; in a folder's policy, " +
          "write for update, move and delete",
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
};

const Explanation = Type.Object(ExplanationFields);

export function explanationOf(
  decision: AccessDecision,
  { membershipId: id, email, state, groupIds }: MemberPrincipal,
  row: PermissionRow,
): Static<typeof Explanation> {
  const user = { id, email };
  if (state !== "active") return { user, allowed: false, decided_by: "state", policy: null, permission: null };
  return {
    user,
    allowed: decision.isAllowed,
    decided_by: decision.by,
    policy: decidingPolicy(decision, groupIds),
    permission: decision.by === "table" ? { groups: [...row.groups], role: row.role } : null,
  };
}

function decidingPolicy(
  { decided }: AccessDecision,
  groupIds: ReadonlySet<number>,
): Static<typeof Explanation>["policy"] {
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
