/**
 * The SQLSTATE of a failure (`23505`), or the system's code of a connection error (`ECONNRESET`); empty if there is
 * none.
 */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
