import { descriptions, ObjectStoreError, type Failure, type ObjectStoreErrorKind } from "../object-store-error.ts";

export interface S3Failure extends Failure {
  /** The store asks for fewer requests. */
  readonly isSlowDown: boolean;
}

/** Error codes that are more specific than their status. */
const kindOfCode: ReadonlyMap<string, ObjectStoreErrorKind> = new Map([
  ["ExpiredToken", "denied"],
  ["InvalidToken", "denied"],
  ["TokenRefreshRequired", "denied"],
  ["InvalidAccessKeyId", "denied"],
  ["SignatureDoesNotMatch", "denied"],
  ["EntityTooLarge", "too-large"],
  ["QuotaExceeded", "no-space"],
  ["XMinioStorageFull", "no-space"],
]);
const transientStatuses: ReadonlySet<number> = new Set([429, 500, 502, 503, 504]);
/** Codes of refused requests whose body did not arrive completely or in time, or was changed on its way. */
const transferCodes: ReadonlySet<string> = new Set([
  "BadDigest",
  "IncompleteBody",
  "InvalidDigest",
  "RequestTimeout",
  "XAmzContentChecksumMismatch",
  "XAmzContentSHA256Mismatch",
]);
/** Codes of an error that is reported with the status 200, because S3 had begun to respond before it failed. */
const transientCodes: ReadonlySet<string> = new Set([
  "ConditionalRequestConflict",
  "InternalError",
  "OperationAborted",
  "RequestTimeout",
  "ServiceUnavailable",
  "SlowDown",
]);

/** Translates an error response. Pure. */
export function failureOfStatus(
  subject: string,
  status: number,
  code: string | null,
  region: string | null = null,
): S3Failure {
  const isLate = status >= 200 && status < 300;
  const isTransient =
    transientStatuses.has(status) ||
    (isLate && isTransientCode(code)) ||
    (status === 400 && code !== null && transferCodes.has(code));
  const kind = kindOf(status, code);
  const reason = [String(status), code ?? ""].filter((text) => text !== "").join(" ");
  const actualRegion = region === null ? "" : `; the bucket is in the region ${region}`;
  const skewed = code === "RequestTimeTooSkewed" ? "; the clock of this server or of the store is wrong" : "";
  return {
    error: new ObjectStoreError(kind, `${subject}: ${descriptions[kind]} (${reason})${actualRegion}${skewed}`, {
      code: code ?? undefined,
    }),
    isTransient,
    isSlowDown: status === 429 || status === 503 || code === "SlowDown",
  };
}

/** For codes without a status of their own: of one object among several, or of an error after the status 200. */
export function isTransientCode(code: string | null): boolean {
  return code !== null && transientCodes.has(code);
}

/** Whether the same call may succeed later. */
export function isTransientError({ kind, code }: ObjectStoreError): boolean {
  return kind === "unreachable" || kind === "bad-response" || (code !== undefined && transferCodes.has(code));
}

function kindOf(status: number, code: string | null): ObjectStoreErrorKind {
  const known = code === null ? undefined : kindOfCode.get(code);
  if (known !== undefined) return known;
  if (status === 401 || status === 403) return "denied";
  if (status === 404) return "missing";
  if (status === 413) return "too-large";
  if (status === 416) return "bad-range";
  if (status === 507) return "no-space";
  if (status === 501) return "bad-request"; // the store does not know the operation
  if (status === 429 || status >= 500) return "unreachable";
  if (status >= 300) return "bad-request";
  return isTransientCode(code) ? "unreachable" : "bad-request"; // a success that contains an error
}
