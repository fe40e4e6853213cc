import type { Queryable } from "../../db/database.ts";
import { notFound } from "../../lib/fault.ts";
import { findGroup, type GroupRow } from "./store.ts";

/** For `find`: the group whose id is in the path. */
export async function groupNamedInPath({
  params,
  reader,
}: {
  params: { group_id: number };
  reader: Queryable;
}): Promise<GroupRow> {
  const group = await findGroup(reader, { id: params.group_id, name: null });
  if (group === undefined) throw notFound();
  return group;
}
