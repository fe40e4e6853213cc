import { descriptions, type Failure } from "../connection-failure.ts";
import { ObjectStoreError, type ObjectStoreErrorKind } from "../object-store-error.ts";

/** By the class of the Java exception, which is more specific than the status: most have 403. */
const kindOfException: ReadonlyMap<string, ObjectStoreErrorKind> = new Map([
  ["FileNotFoundException", "missing"],
  ["ParentNotDirectoryException", "missing"],
  ["AccessControlException", "denied"],
  ["SecurityException", "denied"],
  ["AuthenticationException", "denied"],
  ["InvalidToken", "denied"],
  ["StandbyException", "unreachable"],
  ["RetriableException", "unreachable"],
  ["SafeModeException", "unreachable"],
  ["DSQuotaExceededException", "no-space"],
  ["NSQuotaExceededException", "no-space"],
  ["QuotaByStorageTypeExceededException", "no-space"],
]);
const transientExceptions: readonly string[] = ["RetriableException"];
const transientStatuses: readonly number[] = [429, 502, 503, 504];

/** Translates an error response. Pure. */
export function refusalOf(subject: string, status: number, body: string): Failure {
  const exception = exceptionIn(body);
  const kind =
    (exception === null ? undefined : kindOfException.get(exception)) ?? kindOfStatus(status, exception !== null);
  const reason = exception === null ? String(status) : `${status} ${exception}`;
  return {
    error: new ObjectStoreError(kind, `${subject}: ${descriptions[kind]} (${reason})`, {
      code: exception ?? undefined,
    }),
    isTransient: transientStatuses.includes(status) || (exception !== null && transientExceptions.includes(exception)),
  };
}

function kindOfStatus(status: number, hasException: boolean): ObjectStoreErrorKind {
  if (status === 429 || status >= 500) return "unreachable";
  if (status === 404) return "missing";
  if ((status === 401 || status === 403) && !hasException) return "denied";
  return "bad-request";
}

/** The only text of the server that error messages contain, so it must be a single word. */
function exceptionIn(body: string): string | null {
  try {
    const { RemoteException: details } = JSON.parse(body) as { RemoteException?: { exception?: unknown } }; // checked next
    const name = details?.exception;
    return typeof name === "string" && /^[A-Za-z]{1,64}$/.test(name) ? name : null;
  } catch {
    return null; // not JSON, for example a proxy's error page, or truncated
  }
}
