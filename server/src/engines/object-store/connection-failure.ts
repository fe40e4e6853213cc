import { ObjectStoreError, type ObjectStoreErrorKind } from "./object-store-error.ts";

/** What a store or the network says, in the words of `ObjectStoreError`. Pure. */
export interface Failure {
  error: ObjectStoreError;
  /** Worth another try of a call that may be repeated. */
  isPassing: boolean;
}

/** A connection that was there and broke; one that never came about is not tried again while somebody waits. */
const passingCodes: readonly string[] = ["ECONNRESET", "EPIPE", "UND_ERR_SOCKET", "EAI_AGAIN"];

export const words: Record<ObjectStoreErrorKind, string> = {
  "bad-uri": "not an object of this store",
  missing: "not found",
  denied: "access denied",
  "refused-address": "the address may not be reached",
  unreachable: "the object store does not answer",
  "bad-range": "the range begins beyond the end",
  "too-large": "too large for the object store",
  "not-text": "not text",
  "no-space": "the object store is full",
  "bad-request": "the object store refuses the request",
  "bad-response": "the object store's answer cannot be read",
};

export function failureOfConnection(subject: string, cause: unknown): Failure {
  if (cause instanceof ObjectStoreError) {
    return { error: new ObjectStoreError(cause.kind, `${subject}: ${cause.message}`, { cause }), isPassing: false };
  }
  const code = codeOf(cause);
  const reason = code === undefined ? "" : ` (${code})`;
  return {
    error: new ObjectStoreError("unreachable", `${subject}: ${words.unreachable}${reason}`, { code, cause }),
    isPassing: code !== undefined && passingCodes.includes(code),
  };
}

/** What came is not what such a store sends. */
export function unreadable(subject: string, cause: unknown): ObjectStoreError {
  return new ObjectStoreError("bad-response", `${subject}: ${words["bad-response"]}`, { cause });
}

/** Several addresses tried at once fail with the errors of all. */
function codeOf(error: unknown): string | undefined {
  const first: unknown = error instanceof AggregateError ? (error.errors[0] ?? error) : error;
  const code = first instanceof Error && "code" in first ? first.code : undefined;
  return typeof code === "string" && /^[A-Z0-9_]{1,64}$/.test(code) ? code : undefined;
}
