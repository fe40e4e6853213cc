import { isPermitted, type PermissionRow, type Principal } from "../access/permission.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { ReadScope } from "../access/policy/read-scope.ts";
import type { Tx } from "../db/database.ts";
import { hasProtectedContent, hasProtectedFolder } from "./store/deletion.ts";
import type { FolderRow } from "./store/folders.ts";

/**
 * Whether the caller may delete each folder, notebook and dashboard below the folder, as in single deletions; the gate
 * has authorised the deletion of the folder itself.
 */
export async function mayDeleteBelow(
  tx: Tx,
  { caller, scope }: { caller: Principal & { membershipId: number }; scope: ReadScope },
  { id, type: tree, rootHome }: FolderRow,
  below: readonly number[],
): Promise<boolean> {
  if (caller.groups.has("system-admin")) return true;
  const isForeignHome = rootHome !== 0 && rootHome !== caller.membershipId;
  const scopeFor = (row: PermissionRow): ReadScope => ({
    ...scope,
    isFiltered: true,
    // In another member's home, only policies allow writing.
    byPermission: !isForeignHome && isPermitted(row, caller),
  });
  const { folder, note, dashboard } = OBJECT_PERMISSIONS;
  if (await hasProtectedFolder(tx, scopeFor(folder.write), tree, below)) return false;
  const [content, row] =
    tree === "notes" ? (["note", note.delete] as const) : (["dashboard", dashboard.delete] as const);
  return !(await hasProtectedContent(tx, scopeFor(row), { type: content, tree }, [id, ...below]));
}
