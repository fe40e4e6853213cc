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
 * | `changed` | a condition of the call is not met: the object is not the expected one |
 * | `unconditional` | the store has no conditional writes |
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
  | "changed"
  | "unconditional"
  | "bad-response";

/** Errors that a retry may resolve; for all others the caller must change the request. */
export const transientKinds: ReadonlySet<ObjectStoreErrorKind> = new Set(["unreachable", "bad-response", "no-space"]);

interface ObjectStoreErrorDetails {
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

/** A failure of a store or the network. */
export interface Failure {
  error: ObjectStoreError;
  /** A call that may be repeated should be retried. */
  isTransient: boolean;
}

/** Failures of established connections. Failed attempts to connect are not retried while a caller waits. */
const transientCodes: readonly string[] = ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "EAI_AGAIN"];

export const descriptions: Record<ObjectStoreErrorKind, string> = {
  "bad-uri": "not an object of this store",
  missing: "not found",
  denied: "access denied",
  "refused-address": "the address is not allowed",
  unreachable: "the object store does not answer",
  "bad-range": "the range starts after the end of the object",
  "too-large": "too large for the object store",
  "not-text": "not text",
  "no-space": "the object store is full",
  "bad-request": "the object store refuses the request",
  changed: "the object has changed, or does not exist",
  unconditional: "the object store has no conditional writes",
  "bad-response": "the object store's answer cannot be read",
};

/** Failures to connect, and silence. Only callers that can wait retry them. */
const timeoutCodes: readonly string[] = [
  "ECONNREFUSED",
  "EHOSTUNREACH",
  "ENETUNREACH",
  "ETIMEDOUT",
  "UND_ERR_BODY_TIMEOUT",
  "UND_ERR_CONNECT_TIMEOUT",
  "UND_ERR_HEADERS_TIMEOUT",
];

export function failureOfConnection(subject: string, cause: unknown, retriesTimeouts = false): Failure {
  if (cause instanceof ObjectStoreError) {
    return { error: new ObjectStoreError(cause.kind, `${subject}: ${cause.message}`, { cause }), isTransient: false };
  }
  const code = codeOf(cause);
  const reason = code === undefined ? "" : ` (${code})`;
  return {
    error: new ObjectStoreError("unreachable", `${subject}: ${descriptions.unreachable}${reason}`, { code, cause }),
    isTransient:
      code !== undefined && (transientCodes.includes(code) || (retriesTimeouts && timeoutCodes.includes(code))),
  };
}

/** The response is not one of such a store. */
export function unreadable(subject: string, cause: unknown): ObjectStoreError {
  return new ObjectStoreError("bad-response", `${subject}: ${descriptions["bad-response"]}`, { cause });
}

/** When several addresses were tried, the error contains one error for each. */
function codeOf(error: unknown): string | undefined {
  const first: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const code = first instanceof Error && "code" in first ? first.code : undefined;
  return typeof code === "string" && /^[A-Z0-9_]{1,64}$/.test(code) ? code : undefined;
}

/** One text for everything that would read or write S3 for an account. Spark says the same (jvm/storage/NoAccountKeys.scala). */
export const NO_S3_KEYS =
  "the account has no keys for S3: set storage_access_key and storage_secret_key of the account";
