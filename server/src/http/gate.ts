import type { BodyTerms } from "./body-terms.ts";
import type { Endpoint } from "./endpoint.ts";

/**
 * The seam between the HTTP layer and the product's access rules. Checks run in the order clients rely on: `admit`
 * before a byte of the body is read (401, 403), `enter` once the input is known (idempotency, the object's policy).
 */
export interface Gate<Access, Admission, Admitted> {
  admit(endpoint: Endpoint<Access, Admitted, never>, arrival: Arrival): Promise<Admission>;
  enter(endpoint: Endpoint<Access, Admitted, never>, admission: Admission, arrival: Arrival): Admitted;
  /** How large a body the caller may send; asked before it is read. */
  bodyTerms(endpoint: Endpoint<Access, Admitted, never>, admission: Admission): BodyTerms;
  /** A reply kept for this idempotency key, or undefined. */
  replay(admission: Admission, arrival: Arrival, bodySha256: Buffer): Promise<unknown>;
  /** The user and the account of the request: the server handles only a few requests of each at a time. */
  owners(admission: Admission): readonly string[];
  /** What the request log may say of the caller. */
  describe(admission: Admission): Record<string, number | string>;
}

export interface Arrival {
  requestId: string;
  method: string;
  /** The path as routed, without query: spelling and version are canonical. */
  path: string;
  /** The client's address; forwarded addresses count only from configured proxies. */
  address: string;
  token: string | undefined;
  idempotencyKey: string | undefined;
}
