import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { Id, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import { listPendingUsers } from "./store/members.ts";

/** §4.12 List pending users: users who accepted an invitation and are waiting to be enabled. */
export const getPendingUsers = operation({
  id: "account_pending_users",
  summary: "List the users who are waiting for approval",
  tag: "Users",
  method: "GET",
  paths: { "v1.2": "/accounts/get_pending_users" },
  access: { permission: { groups: ["system-admin"], role: "account:read" } },
  reply: Type.Object({
    pending_users: Type.Array(
      Type.Object({ id: Id, user_id: Id, email: Type.String(), name: Type.String(), created_at: Timestamp }),
    ),
  }),

  async handle({ reader }) {
    const rows = await listPendingUsers(reader);
    return {
      pending_users: rows.map(({ id, user_id, email, name, created_at }) => ({
        id,
        user_id,
        email,
        name,
        created_at: isoSeconds(created_at),
      })),
    };
  },
});
