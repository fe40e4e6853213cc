import { Type, type Static } from "typebox";
import { Id, OneOf, Timestamp } from "../../http/schema.ts";
import { isoSeconds } from "../../lib/clock.ts";
import type { Queryable } from "../../db/database.ts";
import { notFound } from "../../lib/fault.ts";
import { findGroup, type GroupRow } from "./store.ts";

/** §2.8: a group in replies. */
export const Group = Type.Object(
  {
    id: Id,
    name: Type.String(),
    source: OneOf(["system", "custom"], { description: "system: built in" }),
    created_at: Timestamp,
  },
  { title: "Group" },
);

export const GroupReply = Type.Object({ status: Type.Literal("done"), group: Group });

/** §4.13. */
export const DoneReply = Type.Object({ status: Type.Literal("done") });

export const DONE: Static<typeof DoneReply> = { status: "done" };

export const GroupIdParam = Type.Object({ group_id: Id });

export function groupOf({ id, name, source, created_at }: GroupRow): Static<typeof Group> {
  return { id, name, source, created_at: isoSeconds(created_at) };
}

export function groupReply(row: GroupRow): Static<typeof GroupReply> {
  return { status: "done", group: groupOf(row) };
}

/** For `find`: the group whose id is in the path. */
export async function groupNamedInPath({
  params,
  reader,
}: {
  params: { group_id: number };
  reader: Queryable;
}): Promise<GroupRow> {
  const group = await findGroup(reader, { id: params.group_id, name: null });
  if (group === undefined) throw notFound("Group", params.group_id);
  return group;
}
