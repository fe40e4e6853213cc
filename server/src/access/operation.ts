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
import type { Database, Queryable, Tx } from "../db/database.ts";
import { endpointFor } from "../http/endpoint.ts";
import type { Fault } from "../lib/fault.ts";
import type { Feature } from "../lib/features.ts";
import type { Caller } from "./caller.ts";
import type { PermissionRow } from "./permission.ts";
import type { AuthorisedAction } from "./policy/access-decision.ts";
import type { ObjectType, PolicyObject } from "./policy/policy.ts";
import type { ReadScope } from "./policy/read-scope.ts";

export interface OperationAccess {
  permission: PermissionRow | "member" | "operator" | "public";
  /**
   * For operations whose request selects the action or the type of the object: the gate admits callers with any of
   * these rows, and the handler or the result of `find` selects the right one. `action` is the action on the object
   * that a row is for, if not that of `object`.
   */
  alternatives?: readonly (PermissionRow & { readonly action?: AuthorisedAction })[];
  /**
   * Allows a larger body than usual, and a still larger one to accounts with the feature. `values`: how many JSON
   * values the body may have, if more than usual.
   */
  largeBody?: {
    readonly bytes: number;
    readonly values?: number;
    readonly withFeature?: { readonly feature: Feature; readonly bytes: number };
  };
  /**
   * The object whose policy decides before the permission table. `find` returns it as a `FoundObject`, whether the
   * path, the query or the body names it. With several types, the request says which.
   */
  object?: { readonly type: ObjectType | readonly ObjectType[]; readonly action: AuthorisedAction };
  /** The type of the objects that the operation lists: `readable` says which of them the caller may read. */
  lists?: ObjectType;
  /** The types of further objects, which `find` or the handler passes to `authorise`. */
  authorises?: readonly ObjectType[];
}

/** The result of `find` in an operation with `access.object`. */
export interface FoundObject {
  /** Undefined: there is no such object, and callers with the permission get the fault of `missing`. */
  readonly policyObject: PolicyObject | undefined;
  readonly missing?: () => Fault;
  /** Replaces the endpoint's permission if that depends on the object. */
  readonly permission?: PermissionRow & { readonly action?: AuthorisedAction };
}

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
   * Creates a refusal for calls that the permission allows but a rule about this object or caller does not; audited as
   * a denial.
   */
  deny: (message: string) => Fault;
  /**
   * Throws the audited refusal unless a policy or the permission (`row`) allows the action. For objects that `find`
   * does not return; the endpoint names their types in `access`. Pass the transaction to call it inside one.
   */
  authorise: (object: PolicyObject, action: AuthorisedAction, row: PermissionRow, reader?: Queryable) => Promise<void>;
  /** Which objects a list shows; for endpoints with `access.lists`. */
  readable: () => ReadScope;
  /** Which objects of a type in `access.object` or `access.authorises` the caller may read. */
  readableOf: (type: ObjectType) => ReadScope;
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
  /** The changed values, as far as the audit shows them; never a secret. */
  detail?: { readonly before: unknown; readonly after: unknown };
}

export const operation = endpointFor<
  OperationAccess & { permission: Exclude<OperationAccess["permission"], "public"> },
  Admitted
>();
export const publicOperation = endpointFor<{ permission: "public" }, Visitor>();

export interface WithDatabase {
  db: Database;
}
