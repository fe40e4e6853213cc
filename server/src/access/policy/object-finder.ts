import type { Queryable, Tx } from "../../db/database.ts";
import type { ObjectType, PolicyObject } from "./policy.ts";

/** How a slice shows its objects to the operations on policies. `app` passes one in for each type that exists. */
export interface ObjectFinder {
  /** Undefined: the account has no such object. */
  find(reader: Queryable, id: number): Promise<PolicyObject | undefined>;
  /** Locks the object, whose policy is about to be replaced. False: it has been deleted. */
  lockForPolicy(tx: Tx, id: number, hasPolicy: boolean): Promise<boolean>;
}

export interface WithObjectFinders {
  objectFinders: Partial<Record<ObjectType, ObjectFinder>>;
}
