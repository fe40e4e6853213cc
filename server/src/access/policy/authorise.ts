import type { Queryable } from "../../db/database.ts";
import type { Caller } from "../caller.ts";
import { missingPermission, type PermissionRow } from "../permission.ts";
import {
  isWrite,
  decideAccess,
  type AuthorisedAction,
  type PolicyPrincipal,
  type AccessDecision,
  type PolicyChain,
} from "./access-decision.ts";
import { POLICY_SOURCES, type PolicyObject, type PolicySource } from "./policy.ts";
import { readChain } from "./store.ts";

/** What a decision about an object needs to know about the caller besides their permissions. */
export interface PolicyContext {
  readonly groupIds: ReadonlySet<number>;
  /** The account has no policies of these kinds, so they need not be read. */
  readonly absentSources: ReadonlySet<PolicySource>;
}

/**
 * Decides whether a caller may do something with an object. The gate, handlers with further objects and
 * `access_explain` all use this function, so an explanation always agrees with the operation.
 */
export async function authorise(
  reader: Queryable,
  { caller, context }: { caller: Pick<Caller, "membershipId" | "groups" | "statements">; context: PolicyContext },
  { object, action, row }: { object: PolicyObject; action: AuthorisedAction; row: PermissionRow },
): Promise<AccessDecision> {
  const chain = emptyChain(object, action, context) ?? (await readChain(reader, object));
  return decideAccess({ ...caller, groupIds: context.groupIds }, object, action, row, chain);
}

/** The same for several users, with one reading of the policies. */
export async function authoriseEach<User extends PolicyPrincipal>(
  reader: Queryable,
  users: readonly User[],
  { object, action, row }: { object: PolicyObject; action: AuthorisedAction; row: PermissionRow },
): Promise<{ user: User; decision: AccessDecision }[]> {
  const chain = await readChain(reader, object);
  return users.map((user) => ({ user, decision: decideAccess(user, object, action, row, chain) }));
}

/** Undefined: the policies must be read. A write in a folder needs them, too, to learn whose home the folder is in. */
function emptyChain(
  { type, folderRef }: PolicyObject,
  action: AuthorisedAction,
  { absentSources }: PolicyContext,
): PolicyChain | undefined {
  if (!POLICY_SOURCES[type].every((source) => absentSources.has(source))) return undefined;
  if (folderRef !== undefined && folderRef.folderId !== null && isWrite(action)) return undefined;
  return { links: [], homeId: folderRef?.homeId ?? null };
}

/**
 * The message of a refusal. Callers without the permission always get the same text, so that they do not learn whether
 * the object exists. Callers with the permission may learn it: they get 404 for an unknown object.
 */
export function refusalText({ by, decided }: AccessDecision, caller: Caller, row: PermissionRow): string {
  const refusal = missingPermission(row, caller);
  if (refusal !== undefined) return refusal;
  if (by === "home") {
    return (
      "You may not do this: in the folders of another member it needs a policy that allows it. " +
      "Ask that member or a system-admin."
    );
  }
  if (by === "closed_clusters") {
    return (
      "You may not run commands on this cluster: the account has the feature closed_clusters, so the policy of the " +
      "cluster needs an element that allows you the action `start`. Ask the owner of the cluster, if it has one, or a " +
      "system-admin."
    );
  }
  const named = decided === undefined ? "object" : SOURCE_NAMES[decided.link.source];
  const denied = decided?.action ?? "it";
  return (
    `You may not do this: the policy of the ${named} denies ${denied}. ` +
    `Ask the owner of the ${named}, if it has one, or a system-admin.`
  );
}

/** For messages. */
const SOURCE_NAMES: Record<PolicySource, string> = {
  note: "notebook",
  cluster: "cluster",
  scheduler: "schedule",
  environment: "environment",
  folder: "folder",
  notes_root: "folder",
  notebook_dashboards_root: "folder",
};
