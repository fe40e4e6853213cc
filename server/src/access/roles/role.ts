import { Type, type Static } from "typebox";
import { ArrayOrText, Id, OneOf } from "../../http/schema.ts";
import type { Queryable } from "../../db/database.ts";
import { invalid, notFound } from "../../lib/fault.ts";
import { parseReference, PathReference } from "../reference.ts";
import { findRole, type RoleRow } from "./store.ts";

/** §2.8: a role in replies. */
export const Role = Type.Object(
  {
    id: Id,
    name: Type.String(),
    source: OneOf(["system", "custom"], { description: "system: built in" }),
    policy: Type.String({ description: "A JSON string of [{resource, action:[…], access}], as it was sent" }),
    account_id: Id,
  },
  { title: "Role" },
);

export const RoleReply = Type.Object({ status: Type.Literal("success"), roles: Role });

const MAX_POLICIES_LENGTH = 65_536;
export const Policies = ArrayOrText({
  maxLength: MAX_POLICIES_LENGTH,
  description: "An array of {resource, action:[…], access}, or its JSON text",
  examples: ['[{"resource":"command","action":["read","create"],"access":"allow"}]'],
});

/** The text that is stored. */
export function policiesText(given: Static<typeof Policies>): string {
  const text = typeof given === "string" ? given : JSON.stringify(given);
  if (text.length > MAX_POLICIES_LENGTH)
    throw invalid("policies", `must have at most ${MAX_POLICIES_LENGTH} characters`);
  return text;
}

export const RoleParam = Type.Object({ role_id: PathReference });

export function roleOf({ id, name, source, policy, account_id }: RoleRow): Static<typeof Role> {
  return { id, name, source, policy, account_id };
}

export function roleReply(row: RoleRow): Static<typeof RoleReply> {
  return { status: "success", roles: roleOf(row) };
}

/** For `find`: the role whose id or name is in the path. */
export async function roleInPath({
  params,
  reader,
}: {
  params: { role_id: string };
  reader: Queryable;
}): Promise<RoleRow> {
  const role = await findRole(reader, parseReference(params.role_id));
  if (role === undefined) throw notFound("Role", params.role_id);
  return role;
}
