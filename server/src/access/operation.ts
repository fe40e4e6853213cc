import type { Database, Queryable, Tx } from "../db/database.ts";
import { endpointFor } from "../http/endpoint.ts";
import type { Fault } from "../lib/fault.ts";
import type { Feature } from "../lib/features.ts";
import type { Caller } from "./caller.ts";
import type { PermissionRow } from "./permission.ts";

/**
 * The access rules of an operation, as data in its endpoint.
 *
 * | permission | who may call |
 * |---|---|
 * | a row | members of the groups, or of a group with a role that allows it (§5) |
 * | `member` | every active member of the account |
 * | `operator` | operators of the installation; 404 for everyone else |
 * | `public` | no token needed |
 */
export interface OperationAccess {
  permission: PermissionRow | "member" | "operator" | "public";
  /**
   * For operations whose body selects the action: the gate admits callers with any of these rows, and the handler
   * checks the right one.
   */
  alternatives?: readonly PermissionRow[];
  /** Allows a larger body than ordinary operations, and a still larger one with the feature. */
  largeBody?: { readonly bytes: number; readonly feature: Feature; readonly bytesWithFeature: number };
  /** The object whose policy is checked before the table, and where its id is in the request. */
  object?: { type: ObjectType; idFrom: { params: string } | { body: string } | { query: string } };
}

/** Objects that may have a policy (§4.14, §4.11). */
export type ObjectType = "note" | "cluster" | "scheduler" | "environment" | "folder";

/** The origin of a request; all that is known about the caller of a public operation. */
export interface Visitor {
  address: string;
  requestId: string;
}

/** Passed to every handler besides its input. */
export interface Admitted extends Visitor {
  caller: Caller;
  /** Single reads in the caller's account. */
  reader: Queryable;
  /** The same for reads that may take long: they get 20 seconds instead of ten. */
  patientReader: () => Queryable;
  /** The only way to write: the change, its audit row and the idempotent reply in one transaction. */
  change: Change;
  /**
   * Creates a refusal for calls that the table allows but a rule about this object or caller does not; audited as a
   * denial.
   */
  deny: (message: string) => Fault;
}

/**
 * A write: one transaction with the change, its audit row and, if the client sent an idempotency key, the reply. After
 * a crash all three are there or none, and a repeated request never runs twice. `work` sets `audit.object` to the
 * object it changed and returns the reply.
 */
export type Change = <Reply>(work: (tx: Tx, audit: AuditNote) => Promise<Reply>, scope?: ChangeScope) => Promise<Reply>;

/** `system` is for operations outside the caller's account, such as creating one. */
type ChangeScope = "account" | "system";

export interface AuditNote {
  /** The changed object, as `<kind>/<id>`; never a secret. */
  object: string | null;
}

export const operation = endpointFor<
  OperationAccess & { permission: Exclude<OperationAccess["permission"], "public"> },
  Admitted
>();
export const publicOperation = endpointFor<{ permission: "public" }, Visitor>();

export interface WithDatabase {
  db: Database;
}
