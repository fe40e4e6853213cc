import type { Caller } from "../access/caller.ts";

/**
 * Who may take another user's access away or take it over, beyond the operation's permission: an operator only yields
 * to operators, a system-admin to system-admins. Everybody may act on themselves.
 */
export interface Target {
  id: number;
  is_operator: boolean;
  is_admin: boolean;
}

export function mayActOn(caller: Pick<Caller, "membershipId" | "isOperator" | "groups">, target: Target): boolean {
  if (target.id === caller.membershipId) return true;
  if (target.is_operator) return caller.isOperator;
  return !target.is_admin || caller.groups.has("system-admin");
}
