/**
 * The errors that callers distinguish:
 *
 * | Kind | Means |
 * |---|---|
 * | `bad-uri` | not a URI of an object in this store |
 * | `missing` | no such object or bucket |
 * | `denied` | the credentials are unknown, wrong, expired or insufficient |
 * | `refused-address` | the endpoint resolves to an address that is not allowed |
 * | `unreachable` | no connection, no answer in time, or the store is down; a retry may succeed |
 * | `bad-range` | the range starts after the end |
 * | `too-large` | more bytes than the caller or the store allows |
 * | `not-text` | not UTF-8 |
 * | `no-space` | the store is full |
 * | `bad-request` | the store rejects the request |
 * | `bad-response` | the server does not answer like such a store |
 */
export type ObjectStoreErrorKind =
  | "bad-uri"
  | "missing"
  | "denied"
  | "refused-address"
  | "unreachable"
  | "bad-range"
  | "too-large"
  | "not-text"
  | "no-space"
  | "bad-request"
  | "bad-response";

/** Errors that a retry may resolve; for all others the caller must change the request. */
export const transientKinds: ReadonlySet<ObjectStoreErrorKind> = new Set(["unreachable", "bad-response", "no-space"]);

export interface ObjectStoreErrorDetails {
  /** The code of the store or the system, such as `NoSuchKey` or `ECONNREFUSED`. */
  code?: string | undefined;
  cause?: unknown;
}

/** The message may be shown to the user who gave the URI: it contains no secret and no text from a server. */
export class ObjectStoreError extends Error {
  override readonly name = "ObjectStoreError";
  readonly kind: ObjectStoreErrorKind;
  readonly code: string | undefined;

  constructor(kind: ObjectStoreErrorKind, message: string, details: ObjectStoreErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.code = details.code;
  }
}
