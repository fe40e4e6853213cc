import { Fault } from "../lib/fault.ts";

/**
 * SQLSTATEs, or their first characters, that say something about the server and nothing about the statement. The
 * metastores' list (`jvm/metastore/DatabaseCall.scala`) has these and more, because Hive could report any failure as a
 * missing object. Here, internal errors (XX) may be caused by the statement, and a 503 would make clients repeat it.
 */
const UNAVAILABLE_STATES = [
  "08", // connection
  "25006", // read-only: a standby, or a guard of the operator
  "25P03", // a timeout ended a session in a transaction
  "25P04",
  "28", // login refused
  "3D", // no such database
  "53", // resources: memory, disk, connections
  "55P03", // waited too long for a lock
  "57", // operator intervention: shutdown, crash, timeout
  "58", // the operating system failed
];
const UNAVAILABLE_ERRNO = new Set([
  "ECONNREFUSED",
  "ECONNRESET",
  "ENOENT",
  "EPIPE",
  "ETIMEDOUT",
  "ENOTFOUND",
  "EACCES",
  "EAI_AGAIN",
  "ECONNABORTED",
  "EHOSTUNREACH",
  "ENETUNREACH",
]);
const UNAVAILABLE_TEXT =
  /connection terminated|timeout exceeded when trying to connect|timeout expired|error establishing an SSL connection|query read timeout|not queryable|cannot use a pool after/i;

// PostgreSQL was shut down or crashed, an administrator or a timeout ended the session, or the connection broke. The
// texts are those of the `pg` driver about a connection that has ended.
const LOST = new Set(["57P01", "57P02", "57P05", "08003", "08006", "ECONNRESET", "EPIPE"]);
const LOST_TEXT = /connection terminated unexpectedly|not queryable/i;

// Deadlock, serialization failure, and a reference to a row that another change deleted meanwhile: PostgreSQL rolled
// this change back because of a concurrent one.
const CONFLICTS = new Set(["40P01", "40001", "23503"]);

/**
 * Turns errors of an unavailable PostgreSQL (unreachable, full, read-only or shutting down) into 503 faults, and conflicts of
 * concurrent changes into 409. Other errors are returned unchanged.
 */
export function storeFault(error: unknown): unknown {
  if (error instanceof Fault) return error;
  if (isConflict(error)) {
    return new Fault("conflict", "The change conflicts with a concurrent change of the same objects. Try again.", {
      cause: error,
      retryAfterSeconds: 1,
    });
  }
  return isStoreUnavailable(error)
    ? new StoreUnavailableFault("unavailable", unavailableMessage(error), {
        cause: error,
        retryAfterSeconds: 2,
      })
    : error;
}

const READ_ONLY = "25006";

function unavailableMessage(error: unknown): string {
  return errorCode(error) === READ_ONLY
    ? "The database is read-only at the moment: nothing was changed. Try again shortly."
    : "The database is not responding. Try again shortly.";
}

/** The connection ended between `commit` and its reply: it is unknown whether PostgreSQL stored the change. */
export function unknownOutcomeFault(error: unknown): Fault {
  return new StoreUnavailableFault(
    "unavailable",
    "The database did not confirm the change: it may or may not be stored. Check before you send it again, or repeat it " +
      "with the same Idempotency-Key.",
    { cause: error, retryAfterSeconds: 2 },
  );
}

/** Whether a concurrent change made this one fail. A retry may succeed. */
export function isConflict(error: unknown): boolean {
  return CONFLICTS.has(errorCode(error));
}

export function isStoreUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = errorCode(error);
  if (UNAVAILABLE_ERRNO.has(code)) return true;
  if (code.length === 5 && UNAVAILABLE_STATES.some((state) => code.startsWith(state))) return true;
  // A message that comes with a code may quote what a user sent.
  return code === "" && UNAVAILABLE_TEXT.test(error.message);
}

/** A fault of an account's external metastore can have the same code and cause: only the class tells them apart. */
class StoreUnavailableFault extends Fault {}

/** Whether `storeFault` created this fault because the database is unavailable. */
export function isStoreUnavailableFault(error: unknown): boolean {
  return error instanceof StoreUnavailableFault;
}

/** Whether the connection ended before or during the statement, which may or may not have taken effect. */
export function isConnectionLost(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = errorCode(error);
  return LOST.has(code) || (code === "" && LOST_TEXT.test(error.message));
}

export function isUniqueViolation(error: unknown, constraint: string): boolean {
  return (
    errorCode(error) === "23505" && error instanceof Error && "constraint" in error && error.constraint === constraint
  );
}

/** Whether the statement was refused because an earlier one of its transaction has failed. */
export function isTransactionAborted(error: unknown): boolean {
  return errorCode(error) === "25P02";
}

export function isNullViolation(error: unknown, column: string): boolean {
  return errorCode(error) === "23502" && error instanceof Error && "column" in error && error.column === column;
}

/**
 * The SQLSTATE of a failure (`23505`), or the system's code of a connection error (`ECONNRESET`); empty if there is
 * none.
 */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
