import type { Queryable } from "../db/database.ts";
import type { Search } from "../http/gate.ts";
import type { Fault } from "../lib/fault.ts";
import { isRecord } from "../lib/is-record.ts";
import type { Caller } from "./caller.ts";
import type { FoundObject, OperationAccess } from "./operation.ts";
import { isPermitted, missingPermission, type PermissionRow } from "./permission.ts";
import { authorise, refusalText, type PolicyStanding } from "./policy/authorise.ts";
import { OBJECT_PERMISSIONS } from "./policy/object-permissions.ts";
import { POLICY_SOURCES, type ObjectType, type PolicySource } from "./policy/policy.ts";
import type { ReadScope } from "./policy/read-scope.ts";
import { mayReadSomething } from "./policy/store.ts";

/** The kinds of policies that can decide about the operation. */
export function policySourcesOf({ object, lists, judges = [] }: OperationAccess): readonly PolicySource[] {
  if (object === undefined && lists === undefined && judges.length === 0) return NO_SOURCES;
  const types = [object?.type ?? [], lists ?? [], judges].flat();
  return [...new Set(types.flatMap((type) => POLICY_SOURCES[type]))];
}

const NO_SOURCES: readonly PolicySource[] = [];

/** A row of the table, with its action if that differs from the operation's. */
type JudgedRow = NonNullable<OperationAccess["alternatives"]>[number];

/**
 * Undefined: the operation lists no objects that can have policies, or the list would be 403 for the caller. An operation
 * on an object gets a scope in every case, because its policy may admit the caller.
 */
export async function readScopeOf(
  system: Queryable,
  { lists, object }: OperationAccess,
  { caller, standing }: { caller: Caller; standing: PolicyStanding | undefined },
  byTable: boolean,
): Promise<ReadScope | undefined> {
  if (lists === undefined || standing === undefined) return undefined;
  const sources = POLICY_SOURCES[lists].filter((source) => !standing.absentSources.has(source));
  const scope = { byTable, membershipId: caller.membershipId, groupIds: [...standing.groupIds] };
  if (byTable || object !== undefined) {
    return { ...scope, isFiltered: !byTable || (sources.length > 0 && !caller.groups.has("system-admin")) };
  }
  const isSome = await mayReadSomething(system, caller.accountId, { type: lists, sources }, scope);
  return isSome ? { ...scope, isFiltered: true } : undefined;
}

/** The same for an operation that lists nothing, but names objects of this type in a message. */
export function readScopeOfType(type: ObjectType, caller: Caller, standing: PolicyStanding): ReadScope {
  const byTable = isPermitted(OBJECT_PERMISSIONS[type].read, caller);
  const hasPolicies = POLICY_SOURCES[type].some((source) => !standing.absentSources.has(source));
  return {
    byTable,
    membershipId: caller.membershipId,
    groupIds: [...standing.groupIds],
    isFiltered: !byTable || (hasPolicies && !caller.groups.has("system-admin")),
  };
}

/** These faults of `find` reveal whether the object exists. Others are thrown to every caller. */
const SEARCH_FAULTS: ReadonlySet<string> = new Set<Fault["code"]>(["not-found", "invalid"]);

/**
 * Why the caller may not use the object that `find` was to find; undefined if they may. An unknown object is 404 only
 * for callers with the permission, and a refusal for others.
 */
export async function refusalOfSearch(
  asking: { reader: Queryable; caller: Caller; standing: PolicyStanding },
  access: OperationAccess,
  search: Search,
): Promise<string | undefined> {
  const { reader, caller } = asking;
  if ("fault" in search) {
    return SEARCH_FAULTS.has(search.fault.code) ? missingPermissionOf(access, caller) : undefined;
  }
  const { policyObject: object, permission, missing } = foundObject(search.found);
  const rows: JudgedRow[] = permission === undefined ? rowsOf(access) : [permission];
  if (object === undefined) {
    const lack = missingRow(rows, caller);
    if (lack === undefined)
      throw missing?.() ?? new Error("find returned neither an object nor the fault for a missing one");
    return lack;
  }
  let refusal: string | undefined;
  for (const { action = access.object?.action ?? "read", ...row } of rows) {
    const judgement = await authorise(reader, asking, { object, action, row });
    if (judgement.isAllowed) return undefined;
    refusal ??= refusalText(judgement, caller, row);
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

function rowsOf({ permission, alternatives = [] }: OperationAccess): JudgedRow[] {
  return typeof permission === "string" ? [] : [permission, ...alternatives];
}
