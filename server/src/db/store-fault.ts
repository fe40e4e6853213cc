import { Fault } from "../lib/fault.ts";

const UNAVAILABLE_CLASSES = ["08", "53", "57"]; // connection, resources, operator intervention (shutdown, crash)
const UNAVAILABLE_ERRNO = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOENT",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EACCES",
]);
const UNAVAILABLE_TEXT =
  /connection terminated|timeout exceeded when trying to connect|not queryable|cannot use a pool after/i;

/** PostgreSQL away, full or shutting down becomes a 503 fault; anything else stays what it is. */
export function storeFault(error: unknown): unknown {
  return isStoreAway(error)
    ? new Fault("unavailable", "The store is not reachable at the moment. Try again shortly.", {
        cause: error,
        retryAfterSeconds: 2,
      })
    : error;
}

function isStoreAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = "code" in error && typeof error.code === "string" ? error.code : "";
  if (UNAVAILABLE_ERRNO.has(code)) return true;
  if (code.length === 5 && UNAVAILABLE_CLASSES.includes(code.slice(0, 2))) return true;
  return UNAVAILABLE_TEXT.test(error.message);
}

export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return hasCode(error, "23505") && error.constraint === constraint;
}

function hasCode(error: unknown, code: string): error is Error & { code: string; constraint?: string } {
  return error instanceof Error && "code" in error && error.code === code;
}
