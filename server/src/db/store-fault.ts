import { Fault } from "../lib/fault.ts";
import { errorCode } from "./error-code.ts";

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
  /connection terminated|timeout exceeded when trying to connect|query read timeout|not queryable|cannot use a pool after/i;

// A shutdown, a crash, somebody or a time that ends it; what the socket says; what the driver says of one that is over.
const LOST = new Set(["57P01", "57P02", "57P05", "08003", "08006", "ECONNRESET", "EPIPE"]);
const LOST_TEXT = /connection terminated unexpectedly|not queryable/i;

// Deadlock, serialisation, and a row that went away between a look at it and a reference to it: of two crossing
// changes PostgreSQL undid this one.
const CROSSED = new Set(["40P01", "40001", "23503"]);

/** PostgreSQL away, full or shutting down becomes a 503 fault, crossing changes a 409; anything else stays as it is. */
export function storeFault(error: unknown): unknown {
  if (isCrossed(error)) {
    return new Fault("conflict", "Another change of the same things got in the way. Try again.", {
      cause: error,
      retryAfterSeconds: 1,
    });
  }
  return isStoreAway(error)
    ? new Fault("unavailable", "The store does not answer in time at the moment. Try again shortly.", {
        cause: error,
        retryAfterSeconds: 2,
      })
    : error;
}

/** Done again, it may well succeed. */
export function isCrossed(error: unknown): boolean {
  return CROSSED.has(errorCode(error));
}

export function isStoreAway(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = errorCode(error);
  if (UNAVAILABLE_ERRNO.has(code)) return true;
  if (code.length === 5 && UNAVAILABLE_CLASSES.includes(code.slice(0, 2))) return true;
  return UNAVAILABLE_TEXT.test(error.message);
}

/** Whether this is what `storeFault` made of a store that is away. */
export function isStoreAwayFault(error: unknown): boolean {
  return error instanceof Fault && error.code === "unavailable" && isStoreAway(error.cause);
}

/** It was there and has ended, at the latest under this statement, which may have been done or not. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  return LOST.has(errorCode(error)) || LOST_TEXT.test(error.message);
}

export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return (
    errorCode(error) === "23505" && error instanceof Error && "constraint" in error && error.constraint === constraint
  );
}
