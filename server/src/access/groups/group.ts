import { Type, type Static } from "typebox";
import { Id, OneOf, Timestamp } from "../../http/schema.ts";
import { isoSeconds } from "../../lib/clock.ts";
import type { GroupRow } from "./store.ts";

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
