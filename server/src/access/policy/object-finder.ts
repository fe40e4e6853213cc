/**
 * Finds the objects of a slice for the operations on policies, which know no slice. `compose/services.ts` has one for
 * each type that exists.
 */
import type { Queryable, Tx } from "../../db/database.ts";
import type { ObjectType, PolicyObject } from "./policy.ts";

export interface ObjectFinder {
  /** Undefined: the account has no such object. */
  find(reader: Queryable, id: number): Promise<PolicyObject | undefined>;
  /**
   * Locks the object before its policy is replaced; `hasPolicy` says whether the new one has elements. False: the
   * object has been deleted.
   */
  lockForPolicy(tx: Tx, id: number, hasPolicy: boolean): Promise<boolean>;
}

export interface WithObjectFinders {
  objectFinders: Partial<Record<ObjectType, ObjectFinder>>;
}
