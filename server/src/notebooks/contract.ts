import type { Tx } from "../db/database.ts";

/** The interface of this slice for folders. */
export interface FolderContents {
  /** Deletes the notebooks and dashboards in the locked folders, with the policies of the notebooks. */
  deleteFrom(tx: Tx, folderIds: readonly number[]): Promise<void>;
}

export interface WithFolderContents {
  folderContents: FolderContents;
}
