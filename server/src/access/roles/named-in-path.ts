import type { Queryable } from "../../db/database.ts";
import { notFound } from "../../lib/fault.ts";
import { findRole, type RoleRow } from "./store.ts";

/** For `find`: the role whose id is in the path. */
export async function roleNamedInPath({
  params,
  reader,
}: {
  params: { role_id: number };
  reader: Queryable;
}): Promise<RoleRow> {
  const role = await findRole(reader, { id: params.role_id, name: null });
  if (role === undefined) throw notFound();
  return role;
}
