import { Type, type Static } from "typebox";
import { Id, Nullable, OneOf, Timestamp } from "../../http/schema.ts";
import { isoSeconds } from "../../lib/clock.ts";
import type { MemberRow } from "./store.ts";

export const USER_TYPES = ["regular", "service"] as const;

/** §2.8: an entry of get_users, wherever users are listed. */
export const UserEntry = Type.Object({
  id: Type.Integer({ minimum: 1, description: "The user's membership in this account; policies use this id" }),
  user_id: Id,
  email: Type.String(),
  name: Type.String(),
  is_admin: Type.Boolean(),
  disabled: Type.Boolean(),
  account_id: Id,
  created_at: Timestamp,
  last_login: Nullable(Timestamp),
  groups: Type.Array(Type.Object({ id: Id, name: Type.String(), source: OneOf(["system", "custom"]) })),
  user_type: OneOf(USER_TYPES),
});

export function userEntry(row: MemberRow): Static<typeof UserEntry> {
  const groups = row.groups ?? [];
  return {
    id: row.id,
    user_id: row.user_id,
    email: row.email,
    name: row.name,
    is_admin: groups.some(({ name }) => name === "system-admin"),
    disabled: row.state === "disabled",
    account_id: row.account_id,
    created_at: isoSeconds(row.created_at),
    last_login: row.last_login === null ? null : isoSeconds(row.last_login),
    groups,
    user_type: row.user_type,
  };
}
