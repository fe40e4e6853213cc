/**
 * Decides whether a caller may do something with an object, and says what decided. Pure: policies, groups and
 * permissions are passed in as data. row-access.ts has the same rule as SQL, for lists.
 *
 * | action | allowed by a policy | refused by a policy | otherwise |
 * |---|---|---|---|
 * | a `PolicyAction`, except `update` | it is allowed | it is denied | the permission table |
 * | `update` | it is allowed | it or `read` is denied | the table |
 * | `move` (or rename a folder) | `write` is allowed | `write` or `read` is denied | the table |
 * | `set-policy` | `manage` is allowed | `manage`, `read` or `update`/`write` is denied | the table |
 * | `view-policy` | `manage` is allowed | `read` is denied | the table |
 * | `submit` (a command to a cluster) | never | `start` is denied | the table |
 * | `submit-closed` (the same with the feature `closed_clusters`) | `start` is allowed | `start` is denied | refused |
 *
 * For `update` and `move`, a denial overrides an allowance. For `set-policy` and `view-policy`, an allowed `manage`
 * overrides denials.
 *
 * The owner and system-admins are always allowed. To submit, everyone needs the permission as well. In another member's
 * home the permission only allows reading; writing needs a policy.
 */
import { isPermitted, type PermissionRow, type Principal } from "../permission.ts";
import {
  folderAction,
  type Access,
  type Policy,
  type PolicyAction,
  type PolicyObject,
  type PolicySource,
  type Subject,
} from "./policy.ts";
import { verdictOf, type Verdict } from "./verdict.ts";

export type AuthorisedAction = PolicyAction | "move" | "set-policy" | "view-policy" | SubmitAction;

type SubmitAction = "submit" | "submit-closed";

/** A policy that applies to the object: its own, or that of a folder or root above it. */
export interface PolicyLink {
  readonly source: PolicySource;
  readonly sourceId: number;
  readonly policy: Policy;
}

export interface PolicyChain {
  /** The nearest first. */
  readonly links: readonly PolicyLink[];
  /** The membership whose home the object lies in; null: `Common`, or not in a folder. */
  readonly homeId: number | null;
}

export type PolicyPrincipal = Principal & Subject;

export interface AccessDecision {
  readonly isAllowed: boolean;
  readonly by: "system-admin" | "owner" | "policy" | "table" | "home" | "closed_clusters";
  /** Only with `policy`: the element that decided, and the action that was looked up in its policy. */
  readonly decided?: Verdict & { readonly link: PolicyLink; readonly action: PolicyAction };
}

export function decideAccess(
  caller: PolicyPrincipal,
  object: PolicyObject,
  action: AuthorisedAction,
  row: PermissionRow,
  chain: PolicyChain,
): AccessDecision {
  if (isSubmit(action) && !isPermitted(row, caller)) return { isAllowed: false, by: "table" };
  if (caller.groups.has("system-admin")) return { isAllowed: true, by: "system-admin" };
  if (object.ownerId === caller.membershipId) return { isAllowed: true, by: "owner" };
  for (const [policyAction, access] of decidingVerdicts(action, object)) {
    const decided = chainVerdict(caller, object, policyAction, chain);
    if (decided?.access === access) return { isAllowed: access === "allow", by: "policy", decided };
  }
  if (action === "submit-closed") return { isAllowed: false, by: "closed_clusters" };
  if (isWrite(action) && chain.homeId !== null && chain.homeId !== caller.membershipId) {
    return { isAllowed: false, by: "home" };
  }
  return { isAllowed: isPermitted(row, caller), by: "table" };
}

type DecidingVerdicts = readonly (readonly [PolicyAction, Access])[];

/** The verdicts that decide about an action, in order: the first that the policies contain is final. */
function decidingVerdicts(action: AuthorisedAction, { type }: PolicyObject): DecidingVerdicts {
  switch (action) {
    case "submit":
      return [["start", "deny"]];
    case "submit-closed":
      return [
        ["start", "deny"],
        ["start", "allow"],
      ];
    case "view-policy":
      return [
        ["manage", "allow"],
        ["read", "deny"],
      ];
    case "set-policy":
      return [
        ["manage", "allow"],
        ["manage", "deny"],
        ["read", "deny"],
        [type === "folder" ? "write" : "update", "deny"],
      ];
    case "update":
      return unlessReadIsDenied("update");
    case "move":
      return unlessReadIsDenied("write");
    default:
      return [
        [action, "allow"],
        [action, "deny"],
      ];
  }
}

/** For operations that reply with the object, publish it, or take it out of the folder whose policy denies `read`. */
function unlessReadIsDenied(action: PolicyAction): DecidingVerdicts {
  return [
    [action, "deny"],
    ["read", "deny"],
    [action, "allow"],
  ];
}

/** The nearest policy with a verdict decides. */
function chainVerdict(
  caller: Subject,
  { type }: PolicyObject,
  action: PolicyAction,
  { links }: PolicyChain,
): AccessDecision["decided"] | null {
  for (const link of links) {
    const asked = link.source === type && type !== "folder" ? action : folderAction(type, action);
    const verdict = verdictOf(link.policy, asked, caller);
    if (verdict !== null) return { ...verdict, link, action: asked };
  }
  return null;
}

export function isWrite(action: AuthorisedAction): boolean {
  return action !== "read" && action !== "view-policy" && !isSubmit(action);
}

function isSubmit(action: AuthorisedAction): action is SubmitAction {
  return action === "submit" || action === "submit-closed";
}
