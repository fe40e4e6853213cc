import type { FolderType, Place, PolicyObject } from "../access/policy/policy.ts";
import type { Queryable, Tx } from "../db/database.ts";

/** What other slices use to keep objects in folders. */
export interface Folders {
  /**
   * Finds a folder or a root by its location; undefined: there is none. Without a location it is the home of the
   * member. Throws the refusal of a text that is no location.
   */
  find(reader: Queryable, sought: SoughtPlace): Promise<FoundPlace | undefined>;
  /**
   * Keeps the folder from being deleted until the transaction ends. False: it has been deleted. Lock the place before
   * the rows of objects in it, as the deletion of a folder does.
   */
  lock(tx: Tx, place: Place): Promise<boolean>;
  /** The locations of the places, in their order, by one statement. */
  locations(reader: Queryable, places: readonly Place[]): Promise<string[]>;
}

export interface SoughtPlace {
  readonly type: FolderType;
  /** As the request gives it, not validated. */
  readonly location: unknown;
  /** The field of the request that has the location, for refusals. `location` by default. */
  readonly field?: string;
  /** Whose home it is without a location. */
  readonly member: { readonly membershipId: number; readonly email: string };
}

export interface FoundPlace {
  readonly place: Place;
  readonly location: string;
  /** The folder or the root, to ask for `read` or `write`. */
  readonly policyObject: PolicyObject;
}

export interface WithFolders {
  folders: Folders;
}
