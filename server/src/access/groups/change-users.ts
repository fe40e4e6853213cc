import { Type, type Static } from "typebox";
import type { Queryable } from "../../db/database.ts";
import { notFound } from "../../lib/fault.ts";
import { Id } from "../../http/schema.ts";
import type { Admitted } from "../operation.ts";
import { applyGroupEdit } from "./apply-edit.ts";
import { NO_EDIT } from "./group-rules.ts";
import { DONE, groupNamedInPath, type DoneReply } from "./group.ts";
import { membersNamedIn } from "./named-in-list.ts";
import { lockGroup } from "./store.ts";

/** Shared by the operations that add and remove users. */
export const GroupUsersParams = Type.Object({
  group_id: Id,
  users: Type.String({
    minLength: 1,
    maxLength: 4096,
    description: "Ids of get_users entries or e-mail addresses, comma-separated",
    examples: ["7,ann@example.com"],
  }),
});

interface Named {
  params: Static<typeof GroupUsersParams>;
}

export async function findGroupAndUsers(request: Named & { reader: Queryable }): Promise<void> {
  await Promise.all([groupNamedInPath(request), usersNamedIn(request.reader, request)]);
}

export function changeUsers(which: "members" | "removedMembers") {
  return ({ params, caller, deny, change }: Named & Admitted): Promise<Static<typeof DoneReply>> =>
    change(async (tx, audit) => {
      const group = await lockGroup(tx, params.group_id);
      if (group === undefined) throw notFound("Group", params.group_id);
      const users = await usersNamedIn(tx, { params });
      await applyGroupEdit(tx, group, { ...NO_EDIT, [which]: users }, { caller, deny });
      audit.object = `group/${group.id}/svc_user/${users.join(",")}`;
      return DONE;
    });
}

async function usersNamedIn(db: Queryable, { params }: Named): Promise<number[]> {
  const users = await membersNamedIn(db, params.users, (user) => notFound("User", user));
  if (users.length === 0) throw notFound("User", params.users);
  return users;
}
