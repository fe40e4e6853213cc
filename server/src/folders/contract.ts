import type { FolderType, FolderRef, PolicyObject } from "../access/policy/policy.ts";
import type { Queryable, Tx } from "../db/database.ts";

/** The interface of this slice for other slices that keep objects in folders. */
export interface Folders {
  /**
   * Finds a folder or a root by its location; undefined: there is none. Without a location, returns the home of the
   * member. Throws a fault if the location is malformed.
   */
  find(reader: Queryable, sought: SoughtFolder): Promise<FoundFolder | undefined>;
  /**
   * Prevents the deletion of the folder until the transaction ends. False: it has been deleted. Lock the folder before
   * the rows of objects in it, as the deletion of a folder does, to avoid deadlocks.
   */
  lock(tx: Tx, folderRef: FolderRef): Promise<boolean>;
  /** The locations of the folders, in the same order, read by one statement. */
  locations(reader: Queryable, folderRefs: readonly FolderRef[]): Promise<string[]>;
}

export interface SoughtFolder {
  readonly type: FolderType;
  /** As the request gives it, not validated. */
  readonly location: unknown;
  /** The name of the request's field, for error messages; `location` by default. */
  readonly field?: string;
  /** Without a location, the folder is the home of this member. */
  readonly member: { readonly membershipId: number; readonly email: string };
}

export interface FoundFolder {
  readonly folderRef: FolderRef;
  readonly location: string;
  /** The folder or the root, to pass to `authorise`. */
  readonly policyObject: PolicyObject;
}

export interface WithFolders {
  folders: Folders;
}
