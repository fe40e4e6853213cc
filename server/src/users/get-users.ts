import { Type } from "typebox";
import { listMembers } from "../access/members/store.ts";
import { UserEntry, userEntry } from "../access/members/user-entry.ts";
import { operation } from "../access/operation.ts";

/** §4.12 List users: active and disabled users. Pending ones are in get_pending_users. */
export const getUsers = operation({
  id: "account_users",
  summary: "List the users of the account",
  tag: "Users",
  method: "GET",
  paths: { "v1.2": "/accounts/get_users" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "account:read" } },
  reply: Type.Object({ users: Type.Array(UserEntry) }),

  async handle({ reader }) {
    return { users: (await listMembers(reader)).map(userEntry) };
  },
});
