import type { Caller } from "../access/caller.ts";
import { mayGrant } from "../access/grant-rules.ts";
import { parsedPolicy } from "../access/permission.ts";

/**
 * Limits who may disable another user or take over their access, beyond the operation's permission: only operators may
 * act on operators, and only system-admins on system-admins. All users may act on themselves.
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

/**
 * The holder of a user's token has all permissions of that user, so these must be permissions that the caller could
 * grant.
 */
export function mayTakeOver(caller: Actor, target: Target): boolean {
  if (target.id === caller.membershipId) return true;
  return mayActOn(caller, target) && mayGrant(caller, (target.policies ?? []).flatMap(parsedPolicy));
}
