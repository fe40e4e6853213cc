import type { Caller } from "../access/caller.ts";
import { isPermitted, type PermissionRow } from "../access/permission.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { ReadScope } from "../access/policy/read-scope.ts";
import { readChain } from "../access/policy/store.ts";
import { verdictOf } from "../access/policy/verdict.ts";
import type { Tx } from "../db/database.ts";
import { policyObjectOf } from "./find-place.ts";
import { hasDashboardOfOthers, hasProtectedNote, readWriteVerdicts, type FolderBelow } from "./store/deletion.ts";
import type { FolderRow } from "./store/places.ts";

/**
 * Whether the caller may delete each folder, notebook and dashboard below the folder, which the gate has judged. The
 * rules are those of single deletions (access/policy/judgement.ts): everybody may delete what they own, then the nearest
 * policy with a verdict decides, then the permission table, which never admits to writing in another member's home.
 */
export async function mayDeleteBelow(
  tx: Tx,
  { caller, scope }: { caller: Caller; scope: ReadScope },
  folder: FolderRow,
  levels: readonly (readonly FolderBelow[])[],
): Promise<boolean> {
  if (caller.groups.has("system-admin")) return true;
  const { inherited, isForeignHome } = await readStanding(tx, { caller, scope }, folder);
  const byTable = (row: PermissionRow): boolean => !isForeignHome && isPermitted(row, caller);
  const below = levels.flat();
  const own = scope.isFiltered
    ? await readWriteVerdicts(
        tx,
        scope,
        below.map(({ id }) => id),
      )
    : NO_VERDICTS;
  const verdicts = new Map([[folder.id, inherited]]);
  for (const { id, parentId } of below) verdicts.set(id, isAllow(own.get(id)) ?? verdicts.get(parentId) ?? null);

  const ids = [folder.id, ...below.map(({ id }) => id)];
  const mayUse = (id: number, table: boolean): boolean => verdicts.get(id) ?? table;
  const mayDeleteFolders = byTable(OBJECT_PERMISSIONS.folder.write);
  if (below.some(({ id, ownerId }) => ownerId !== caller.membershipId && !mayUse(id, mayDeleteFolders))) return false;
  const mayDeleteDashboards = byTable(OBJECT_PERMISSIONS.dashboard.delete);
  if (folder.type === "notebook_dashboards") {
    const closed = ids.filter((id) => !mayUse(id, mayDeleteDashboards));
    return !(await hasDashboardOfOthers(tx, scope, closed));
  }
  const mayDeleteNotes = byTable(OBJECT_PERMISSIONS.note.delete);
  const { open = [], closed = [] } = Object.groupBy(ids, (id) => (mayUse(id, mayDeleteNotes) ? "open" : "closed"));
  return !(await hasProtectedNote(tx, scope, { open, closed }));
}

const NO_VERDICTS: ReadonlyMap<number, number> = new Map();

function isAllow(weight: number | undefined): boolean | undefined {
  return weight === undefined ? undefined : weight % 2 === 0;
}

interface InheritedStanding {
  /** Whether the nearest policy allows writing in the folder; null: none says anything about it. */
  readonly inherited: boolean | null;
  readonly isForeignHome: boolean;
}

/** What applies to an object in the folder that somebody else owns. */
async function readStanding(
  tx: Tx,
  { caller: { membershipId }, scope }: { caller: Caller; scope: ReadScope },
  folder: FolderRow,
): Promise<InheritedStanding> {
  const { links, homeId } = await readChain(tx, policyObjectOf(folder));
  const subject = { membershipId, groupIds: new Set(scope.groupIds) };
  const [nearest] = links.flatMap(({ policy }) => verdictOf(policy, "write", subject) ?? []);
  return {
    inherited: nearest === undefined ? null : nearest.access === "allow",
    isForeignHome: homeId !== null && homeId !== membershipId,
  };
}
