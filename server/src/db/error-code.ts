/** What PostgreSQL calls a failure (`23505`), or the system one of its connection (`ECONNRESET`); empty: nobody says. */
export function errorCode(error: unknown): string {
  return error instanceof Error && "code" in error && typeof error.code === "string" ? error.code : "";
}
