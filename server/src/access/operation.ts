import type { Database, Queryable } from "../db/database.ts";
import { endpointFor } from "../http/endpoint.ts";
import type { Fault } from "../lib/fault.ts";
import type { Feature } from "../lib/features.ts";
import type { Caller } from "./caller.ts";
import type { Change } from "./change.ts";
import type { PermissionRow } from "./permission.ts";

/**
 * What access needs to know of an operation, as data in its endpoint.
 *
 * | permission | who |
 * |---|---|
 * | a row | members of the groups, or of a group with a role that allows it (§5) |
 * | `member` | every active member of the account |
 * | `operator` | operators of the installation; 404 for everyone else |
 * | `public` | no token needed |
 */
export interface OperationAccess {
  permission: PermissionRow | "member" | "operator" | "public";
  /** Where the body chooses what is done: the gate lets in whoever one of the rows does, the handler asks for the one. */
  alternatives?: readonly PermissionRow[];
  /** A body larger than that of ordinary operations. With the feature it may be larger again. */
  largeBody?: { readonly bytes: number; readonly feature: Feature; readonly bytesWithFeature: number };
  /** The object whose policy decides before the table does, and where its id stands in the request. */
  object?: { type: ObjectType; idFrom: { params: string } | { body: string } | { query: string } };
}

/** Objects that may carry a policy (§4.14, §4.11); each comes with its slice. */
export type ObjectType = "note" | "cluster" | "scheduler" | "environment" | "folder";

/** Where a request comes from; all there is to know of the caller of a public operation. */
export interface Visitor {
  address: string;
  requestId: string;
}

/** What every handler gets besides its input. */
export interface Admitted extends Visitor {
  caller: Caller;
  /** Single reads in the caller's account. */
  reader: Queryable;
  /** The same for reads that may rightly take long: they get 20 seconds instead of ten. */
  patientReader: () => Queryable;
  /** The one way to write: a transaction, its audit row and the idempotent reply, all or nothing. */
  change: Change;
  /** The refusal of what the table allows but a rule about this very object or caller does not; audited as a denial. */
  deny: (message: string) => Fault;
}

export const operation = endpointFor<
  OperationAccess & { permission: Exclude<OperationAccess["permission"], "public"> },
  Admitted
>();
export const publicOperation = endpointFor<{ permission: "public" }, Visitor>();

export interface WithDatabase {
  db: Database;
}
