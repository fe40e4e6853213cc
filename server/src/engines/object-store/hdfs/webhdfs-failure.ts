import { words, type Failure } from "../connection-failure.ts";
import { ObjectStoreError, type ObjectStoreErrorKind } from "../object-store-error.ts";

/** By the class of Java's exception, which says more than the status: 403 is for most of them. */
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
const passingExceptions: readonly string[] = ["RetriableException"];
const passingStatuses: readonly number[] = [429, 502, 503, 504];

/** What WebHDFS says, in the words of `ObjectStoreError`. Pure. */
export function refusalOf(subject: string, status: number, body: string): Failure {
  const exception = exceptionIn(body);
  const kind =
    (exception === null ? undefined : kindOfException.get(exception)) ?? kindOfStatus(status, exception !== null);
  const reason = exception === null ? String(status) : `${status} ${exception}`;
  return {
    error: new ObjectStoreError(kind, `${subject}: ${words[kind]} (${reason})`, {
      code: exception ?? undefined,
    }),
    isPassing: passingStatuses.includes(status) || (exception !== null && passingExceptions.includes(exception)),
  };
}

function kindOfStatus(status: number, isTold: boolean): ObjectStoreErrorKind {
  if (status === 429 || status >= 500) return "unreachable";
  if (status === 404) return "missing";
  if ((status === 401 || status === 403) && !isTold) return "denied";
  return "bad-request";
}

/** The only text of a server that reaches a message: a word, or nothing. */
function exceptionIn(body: string): string | null {
  try {
    const { RemoteException: told } = JSON.parse(body) as { RemoteException?: { exception?: unknown } }; // checked next
    const name = told?.exception;
    return typeof name === "string" && /^[A-Za-z]{1,64}$/.test(name) ? name : null;
  } catch {
    return null; // not JSON: a proxy's page, or cut off
  }
}
