import type { Caller } from "../access/caller.ts";
import { isPermitted, type PermissionRow } from "../access/permission.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { ReadScope } from "../access/policy/read-scope.ts";
import { readChain } from "../access/policy/store.ts";
import { verdictOf } from "../access/policy/verdict.ts";
import type { Tx } from "../db/database.ts";
import { policyObjectOf } from "./find-place.ts";
import { hasDashboardOfOthers, hasProtectedNote, readVerdictsOnWriting, type FolderBelow } from "./store/deletion.ts";
import type { FolderRow } from "./store/places.ts";

/**
 * Whether the caller may delete each folder, notebook and dashboard below the folder; the gate has judged the folder
 * itself. The rules are those of single deletions (access/policy/judgement.ts): owners may delete what they own, then
 * the nearest policy with a verdict decides, then the permission table, which never allows writing in another member's
 * home.
 */
export async function mayDeleteBelow(
  tx: Tx,
  { caller, scope }: { caller: Caller; scope: ReadScope },
  folder: FolderRow,
  levels: readonly (readonly FolderBelow[])[],
): Promise<boolean> {
  if (caller.groups.has("system-admin")) return true;
  const { inherited, isForeignHome } = await readInherited(tx, { caller, scope }, folder);
  const byTable = (row: PermissionRow): boolean => !isForeignHome && isPermitted(row, caller);
  const below = levels.flat();
  const own = scope.isFiltered
    ? await readVerdictsOnWriting(
        tx,
        scope,
        below.map(({ id }) => id),
      )
    : NO_VERDICTS;
  // Parents come before their children, so the verdict that a folder inherits is already known.
  const verdicts = new Map([[folder.id, inherited]]);
  for (const { id, parentId } of below) verdicts.set(id, isAllow(own.get(id)) ?? verdicts.get(parentId) ?? null);

  const ids = [folder.id, ...below.map(({ id }) => id)];
  const mayWriteIn = (id: number, allowedByTable: boolean): boolean => verdicts.get(id) ?? allowedByTable;
  const mayDeleteFolders = byTable(OBJECT_PERMISSIONS.folder.write);
  if (below.some(({ id, ownerId }) => ownerId !== caller.membershipId && !mayWriteIn(id, mayDeleteFolders)))
    return false;
  const mayDeleteDashboards = byTable(OBJECT_PERMISSIONS.dashboard.delete);
  if (folder.type === "notebook_dashboards") {
    const closed = ids.filter((id) => !mayWriteIn(id, mayDeleteDashboards));
    return !(await hasDashboardOfOthers(tx, scope, closed));
  }
  const mayDeleteNotes = byTable(OBJECT_PERMISSIONS.note.delete);
  const { open = [], closed = [] } = Object.groupBy(ids, (id) => (mayWriteIn(id, mayDeleteNotes) ? "open" : "closed"));
  return !(await hasProtectedNote(tx, scope, { open, closed }));
}

const NO_VERDICTS: ReadonlyMap<number, number> = new Map();

/** Even weights allow, odd ones deny; undefined: no verdict. */
function isAllow(weight: number | undefined): boolean | undefined {
  return weight === undefined ? undefined : weight % 2 === 0;
}

interface InheritedRules {
  /** Whether the nearest policy with a verdict allows writing in the folder; null: no policy has one. */
  readonly inherited: boolean | null;
  readonly isForeignHome: boolean;
}

/** The rules for objects in the folder that the caller does not own. */
async function readInherited(
  tx: Tx,
  { caller: { membershipId }, scope }: { caller: Caller; scope: ReadScope },
  folder: FolderRow,
): Promise<InheritedRules> {
  const { links, homeId } = await readChain(tx, policyObjectOf(folder));
  const subject = { membershipId, groupIds: new Set(scope.groupIds) };
  const [nearest] = links.flatMap(({ policy }) => verdictOf(policy, "write", subject) ?? []);
  return {
    inherited: nearest === undefined ? null : nearest.access === "allow",
    isForeignHome: homeId !== null && homeId !== membershipId,
  };
}
