import type { Queryable } from "../db/database.ts";
import type { Search } from "../http/gate.ts";
import type { Fault } from "../lib/fault.ts";
import { isRecord } from "../lib/is-record.ts";
import type { Caller } from "./caller.ts";
import type { FoundObject, OperationAccess } from "./operation.ts";
import { isPermitted, missingPermission, type PermissionRow } from "./permission.ts";
import { authorise, refusalText, type PolicyContext } from "./policy/authorise.ts";
import { OBJECT_PERMISSIONS } from "./policy/object-permissions.ts";
import { POLICY_SOURCES, type ObjectType, type PolicySource } from "./policy/policy.ts";
import type { ReadScope } from "./policy/read-scope.ts";
import { mayReadSomething } from "./policy/store.ts";

/** The kinds of policies that can decide about the operation. */
export function policySourcesOf({ object, lists, authorises = [] }: OperationAccess): readonly PolicySource[] {
  if (object === undefined && lists === undefined && authorises.length === 0) return NO_SOURCES;
  const types = [object?.type ?? [], lists ?? [], authorises].flat();
  return [...new Set(types.flatMap((type) => POLICY_SOURCES[type]))];
}

const NO_SOURCES: readonly PolicySource[] = [];

/** A row of the permission table, with its action if that differs from the operation's. */
type PermissionChoice = NonNullable<OperationAccess["alternatives"]>[number];

/**
 * Undefined: the operation lists no objects that can have policies, or the list would be 403 for the caller. An operation
 * on an object gets a scope in every case, because its policy may admit the caller.
 */
export async function readScopeOf(
  system: Queryable,
  { lists, object }: OperationAccess,
  { caller, context }: { caller: Caller; context: PolicyContext | undefined },
  byPermission: boolean,
): Promise<ReadScope | undefined> {
  if (lists === undefined || context === undefined) return undefined;
  const sources = POLICY_SOURCES[lists].filter((source) => !context.absentSources.has(source));
  const scope = { byPermission, membershipId: caller.membershipId, groupIds: [...context.groupIds] };
  if (byPermission || object !== undefined) {
    return { ...scope, isFiltered: !byPermission || (sources.length > 0 && !caller.groups.has("system-admin")) };
  }
  const isSome = await mayReadSomething(system, caller.accountId, { type: lists, sources }, scope);
  return isSome ? { ...scope, isFiltered: true } : undefined;
}

/** The same for an operation that lists nothing, but names objects of this type in a message. */
export function readScopeOfType(type: ObjectType, caller: Caller, context: PolicyContext): ReadScope {
  const byPermission = isPermitted(OBJECT_PERMISSIONS[type].read, caller);
  const hasPolicies = POLICY_SOURCES[type].some((source) => !context.absentSources.has(source));
  return {
    byPermission,
    membershipId: caller.membershipId,
    groupIds: [...context.groupIds],
    isFiltered: !byPermission || (hasPolicies && !caller.groups.has("system-admin")),
  };
}

/** These faults of `find` reveal whether the object exists. Others are thrown to every caller. */
const SEARCH_FAULTS: ReadonlySet<string> = new Set<Fault["code"]>(["not-found", "invalid"]);

/**
 * Why the caller may not use the object that `find` was to find; undefined if they may. An unknown object is 404 only
 * for callers with the permission, and a refusal for others.
 */
export async function refusalOfSearch(
  asking: { reader: Queryable; caller: Caller; context: PolicyContext },
  access: OperationAccess,
  search: Search,
): Promise<string | undefined> {
  const { reader, caller } = asking;
  if ("fault" in search) {
    return SEARCH_FAULTS.has(search.fault.code) ? missingPermissionOf(access, caller) : undefined;
  }
  const { policyObject: object, permission, missing } = foundObject(search.found);
  const rows: PermissionChoice[] = permission === undefined ? rowsOf(access) : [permission];
  if (object === undefined) {
    const refusal = missingRow(rows, caller);
    if (refusal === undefined)
      throw missing?.() ?? new Error("find returned neither an object nor the fault for a missing one");
    return refusal;
  }
  let refusal: string | undefined;
  for (const { action = access.object?.action ?? "read", ...row } of rows) {
    const decision = await authorise(reader, asking, { object, action, row });
    if (decision.isAllowed) return undefined;
    refusal ??= refusalText(decision, caller, row);
  }
  return refusal;
}

function foundObject(found: unknown): FoundObject {
  if (!isRecord(found) || !("policyObject" in found)) throw new Error("find must return a policyObject");
  return found as unknown as FoundObject; // typed by the definitions of operations
}

/** The message about the missing permission; undefined if one of the operation's rows allows the call. */
export function missingPermissionOf(access: OperationAccess, caller: Caller): string | undefined {
  return missingRow(rowsOf(access), caller);
}

/** The message names the first row only. */
function missingRow(rows: readonly PermissionRow[], caller: Caller): string | undefined {
  const [first] = rows;
  if (first === undefined || rows.some((row) => isPermitted(row, caller))) return undefined;
  return missingPermission(first, caller);
}

function rowsOf({ permission, alternatives = [] }: OperationAccess): PermissionChoice[] {
  return typeof permission === "string" ? [] : [permission, ...alternatives];
}
