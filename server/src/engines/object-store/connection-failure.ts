import { ObjectStoreError, type ObjectStoreErrorKind } from "./object-store-error.ts";

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
  "bad-response": "the object store's answer cannot be read",
};

export function failureOfConnection(subject: string, cause: unknown): Failure {
  if (cause instanceof ObjectStoreError) {
    return { error: new ObjectStoreError(cause.kind, `${subject}: ${cause.message}`, { cause }), isTransient: false };
  }
  const code = codeOf(cause);
  const reason = code === undefined ? "" : ` (${code})`;
  return {
    error: new ObjectStoreError("unreachable", `${subject}: ${descriptions.unreachable}${reason}`, { code, cause }),
    isTransient: code !== undefined && transientCodes.includes(code),
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
