/**
 * The interface between the HTTP layer and the product's access rules. Checks run in the order that clients rely on:
 * `admit` before any byte of the body is read (401, 403); `enter` before `find` and the handler run; and `authorise`
 * once the object is found, if objects of the request decide about access. If the path names the object, that is before
 * the body is read. `renew` repeats the checks after a body that arrived slowly, so that a client cannot keep rights by
 * holding a request open.
 */
import type { Fault } from "../lib/fault.ts";
import type { Endpoint } from "./endpoint.ts";

export interface Gate<Access, Admission, Admitted> {
  admit(endpoint: Endpoint<Access, Admitted, never>, arrival: Arrival): Promise<Admission>;
  /**
   * Checks access again if the body or the wait for its turn took longer than a second, with the rights that the caller
   * has now. Returns the same admission otherwise.
   */
  renew(endpoint: Endpoint<Access, Admitted, never>, admission: Admission, arrival: Arrival): Promise<Admission>;
  enter(endpoint: Endpoint<Access, Admitted, never>, admission: Admission, arrival: Arrival): Admitted;
  /** Whether objects of the request decide about access: then `authorise` must be called with the outcome of `find`. */
  checksPolicies(endpoint: Endpoint<Access, Admitted, never>): boolean;
  /** Throws the refusal (403). If nothing was found, only callers without the permission are refused. */
  authorise(endpoint: Endpoint<Access, Admitted, never>, admission: Admission, search: Search): Promise<void>;
  /** How large a body the caller may send; called before the body is read. */
  bodyTerms(endpoint: Endpoint<Access, Admitted, never>, admission: Admission): BodyTerms;
  /** The stored reply for this idempotency key, or undefined. */
  replay(admission: Admission, arrival: Arrival, bodySha256: Buffer): Promise<unknown>;
  /** The user and the account of the request; the number of concurrent requests of each is limited. */
  owners(admission: Admission): readonly string[];
  /** The fields about the caller for the request log. */
  describe(admission: Admission): Record<string, number | string>;
}

/** The outcome of an endpoint's `find`. */
export type Search = { readonly found: unknown } | { readonly fault: Fault };

export interface Arrival {
  requestId: string;
  method: string;
  /** The canonical path, without query. */
  path: string;
  /** As the client sent it, with the query. */
  sentUrl: string;
  /** The client's address; forwarded addresses are trusted only from configured proxies. */
  address: string;
  token: string | undefined;
  idempotencyKey: string | undefined;
}

/** The limits of a request's body. The gate sets them before any of it is read. */
export interface BodyTerms {
  readonly limitBytes: number;
  /** How many JSON values the body may have, if more than usual. */
  readonly maxValues?: number;
  /** Appended to the error message: how to be allowed a larger body. */
  readonly hint?: string;
  /** The account whose memory for bodies it uses. */
  readonly owner: string;
}

/** Enough for the JSON of every ordinary operation. */
export const ORDINARY_BODY_BYTES = 1024 * 1024;
/** The body of a GET replaces its query string. It may be forwarded to another node. */
export const QUERY_BODY_BYTES = 64 * 1024;
/** Requests without a token: accepting an invitation, or the server's own pages. */
const ANONYMOUS_BODY_BYTES = 16 * 1024;

export const ANONYMOUS_TERMS: BodyTerms = { limitBytes: ANONYMOUS_BODY_BYTES, owner: "anonymous" };
