import type { Queryable } from "../../db/database.ts";
import type { Caller } from "../caller.ts";
import { missingPermission, type PermissionRow } from "../permission.ts";
import { isWrite, judge, type JudgedAction, type JudgedCaller, type Judgement, type PolicyChain } from "./judgement.ts";
import { POLICY_SOURCES, type PolicyObject, type PolicySource } from "./policy.ts";
import { readChain } from "./store.ts";

/** What a decision about an object needs to know about the caller besides their permissions. */
export interface PolicyStanding {
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
  { caller, standing }: { caller: Pick<Caller, "membershipId" | "groups" | "statements">; standing: PolicyStanding },
  { object, action, row }: { object: PolicyObject; action: JudgedAction; row: PermissionRow },
): Promise<Judgement> {
  const chain = emptyChain(object, action, standing) ?? (await readChain(reader, object));
  return judge({ ...caller, groupIds: standing.groupIds }, object, action, row, chain);
}

/** The same for several users, with one reading of the policies. */
export async function authoriseEach<User extends JudgedCaller>(
  reader: Queryable,
  users: readonly User[],
  { object, action, row }: { object: PolicyObject; action: JudgedAction; row: PermissionRow },
): Promise<{ user: User; judgement: Judgement }[]> {
  const chain = await readChain(reader, object);
  return users.map((user) => ({ user, judgement: judge(user, object, action, row, chain) }));
}

/** Undefined: the policies must be read. A write in a folder needs them, too, to learn whose home the folder is in. */
function emptyChain(
  { type, place }: PolicyObject,
  action: JudgedAction,
  { absentSources }: PolicyStanding,
): PolicyChain | undefined {
  if (!POLICY_SOURCES[type].every((source) => absentSources.has(source))) return undefined;
  if (place !== undefined && place.folderId !== null && isWrite(action)) return undefined;
  return { links: [], homeId: place?.homeId ?? null };
}

/**
 * The message of a refusal. Callers without the permission always get the same text, so that they do not learn whether
 * the object exists. Callers with the permission may learn it: they get 404 for an unknown object.
 */
export function refusalText({ by, decided }: Judgement, caller: Caller, row: PermissionRow): string {
  const lack = missingPermission(row, caller);
  if (lack !== undefined) return lack;
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
