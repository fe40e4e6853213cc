/**
 * What went wrong, as far as a caller acts on it:
 *
 * | Kind | Means |
 * |---|---|
 * | `bad-uri` | not a URI of an object this store may hold |
 * | `missing` | no such object or bucket |
 * | `denied` | credentials unknown, wrong or expired, or not enough |
 * | `refused-address` | the endpoint resolves to an address that may not be reached |
 * | `unreachable` | no connection, no answer in time, or the store is out of order; a later try may work |
 * | `bad-range` | the range begins beyond the end |
 * | `too-large` | more bytes than the caller or the store takes |
 * | `not-text` | not UTF-8 |
 * | `no-space` | the store is full |
 * | `bad-request` | the store understood and refuses |
 * | `bad-response` | what answers there does not speak as such a store |
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

/** What a later try may cure; all else is for whoever asked to change. */
export const passingKinds: ReadonlySet<ObjectStoreErrorKind> = new Set(["unreachable", "bad-response", "no-space"]);

export interface ObjectStoreErrorDetails {
  /** The store's or the system's own word, `NoSuchKey` or `ECONNREFUSED`. */
  code?: string | undefined;
  cause?: unknown;
}

/** The message may be shown to whoever gave the URI: it holds no secret and no text that a server sent. */
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
