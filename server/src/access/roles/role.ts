import { Type, type Static } from "typebox";
import { Id, OneOf } from "../../http/schema.ts";
import type { Queryable } from "../../db/database.ts";
import { notFound } from "../../lib/fault.ts";
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

export const Policies = Type.String({
  maxLength: 65_536,
  description: "A JSON string of [{resource, action:[…], access}]",
  examples: ['[{"resource":"command","action":["read","create"],"access":"allow"}]'],
});

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
  if (role === undefined) throw notFound();
  return role;
}
