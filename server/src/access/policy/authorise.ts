import type { Queryable } from "../../db/database.ts";
import type { Caller } from "../caller.ts";
import { missingPermission, type PermissionRow } from "../permission.ts";
import { isWrite, judge, type JudgedAction, type Judgement, type PolicyChain } from "./judgement.ts";
import { SOURCES_OF, type PolicyObject, type PolicySource } from "./policy.ts";
import { readChain } from "./store.ts";

/** What a judgement needs to know about a caller besides their permissions. Read with the token, where it is needed. */
export interface PolicyStanding {
  readonly groupIds: ReadonlySet<number>;
  /** The kinds of policies that the account has none of: there is no need to read them. */
  readonly absent: ReadonlySet<PolicySource>;
}

/** The one way from an object to a decision: for the gate, for further objects of a request, and for explanations. */
export async function authorise(
  reader: Queryable,
  { caller, standing }: { caller: Pick<Caller, "membershipId" | "groups" | "statements">; standing: PolicyStanding },
  { object, action, row }: { object: PolicyObject; action: JudgedAction; row: PermissionRow },
): Promise<Judgement> {
  const chain = needsNoChain(object, action, standing) ?? (await readChain(reader, object));
  return judge({ ...caller, groupIds: standing.groupIds }, object, action, row, chain);
}

function needsNoChain(
  { type, place }: PolicyObject,
  action: JudgedAction,
  { absent }: PolicyStanding,
): PolicyChain | undefined {
  if (!SOURCES_OF[type].every((source) => absent.has(source))) return undefined;
  if (place !== undefined && place.folderId !== null && isWrite(action)) return undefined;
  return { links: [], homeId: place?.homeId ?? null };
}

/**
 * The message of a refusal. Callers whom the table does not admit get its text in every case: they must not learn
 * whether the object exists. The others would get 404 for an unknown object anyway.
 */
export function refusalText({ by, decided }: Judgement, caller: Caller, row: PermissionRow): string {
  const lack = missingPermission(row, caller);
  if (lack !== undefined) return lack;
  if (by === "home") {
    return "You may not do this: in the folders of another member it needs a policy that allows it.";
  }
  const owner = decided === undefined ? "object" : OWNERS[decided.link.source];
  return `You may not do this: the policy of the ${owner} denies ${decided?.action ?? "it"}. Ask those who manage it.`;
}

const OWNERS: Record<PolicySource, string> = {
  note: "notebook",
  cluster: "cluster",
  scheduler: "schedule",
  environment: "environment",
  folder: "folder",
  notes_root: "folder",
  notebook_dashboards_root: "folder",
};
