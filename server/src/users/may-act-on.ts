import type { Caller } from "../access/caller.ts";
import { mayGrant } from "../access/grant-rules.ts";
import { parsedPolicy } from "../access/role-policy.ts";

/**
 * Who may take another user's access away or take it over, beyond the operation's permission: an operator only yields
 * to operators, a system-admin to system-admins. Everybody may act on themselves.
 */
export interface Target {
  id: number;
  is_operator: boolean;
  is_admin: boolean;
  policies: readonly string[] | null;
}

type Actor = Pick<Caller, "membershipId" | "isOperator" | "groups" | "statements">;

export function mayActOn(caller: Actor, target: Target): boolean {
  if (target.id === caller.membershipId) return true;
  if (target.is_operator) return caller.isOperator;
  return !target.is_admin || caller.groups.has("system-admin");
}

/** Who holds another's token may do all that they may, so it must be nothing that the caller could not hand out. */
export function mayTakeOver(caller: Actor, target: Target): boolean {
  if (target.id === caller.membershipId) return true;
  return mayActOn(caller, target) && mayGrant(caller, (target.policies ?? []).flatMap(parsedPolicy));
}
