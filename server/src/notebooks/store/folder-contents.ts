import { deletePolicies } from "../../access/policy/store.ts";
import type { Tx } from "../../db/database.ts";
import type { FolderContents } from "../contract.ts";

/** Implements the interface for the slice of folders; compose/services.ts passes it in. */
export const folderContents: FolderContents = { deleteFrom };

/**
 * Notebooks are deleted before their policies, in the order in which setting a policy locks them. So a policy that is
 * set at the same time is deleted too.
 */
async function deleteFrom(tx: Tx, folderIds: readonly number[]): Promise<void> {
  const notebooks = await tx.query<{ id: number }>("delete from note where folder_id = any ($1) returning id", [
    folderIds,
  ]);
  const ids = notebooks.map(({ id }) => id);
  if (ids.length > 0) deletePolicies(tx, "note", ids);
  tx.send("delete from dashboard where folder_id = any ($1)", [folderIds]);
}
