import { words, type Failure } from "../connection-failure.ts";
import { ObjectStoreError, type ObjectStoreErrorKind } from "../object-store-error.ts";

/** What S3 says, in the words of `ObjectStoreError`. Pure. */
/** Codes that mean something else than their status does. */
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
const passingStatuses: readonly number[] = [429, 500, 502, 503, 504];

export function failureOfStatus(subject: string, status: number, code: string | null, region: string | null): Failure {
  const kind = (code === null ? undefined : kindOfCode.get(code)) ?? kindOfStatus(status);
  const reason = [status >= 100 ? String(status) : "", code ?? ""].filter((text) => text !== "").join(" ");
  const elsewhere = region === null ? "" : `; the bucket lies in ${region}`;
  const skewed = code === "RequestTimeTooSkewed" ? "; the clocks differ" : "";
  return {
    error: new ObjectStoreError(kind, `${subject}: ${words[kind]} (${reason})${elsewhere}${skewed}`, {
      code: code ?? undefined,
    }),
    isPassing: passingStatuses.includes(status),
  };
}

function kindOfStatus(status: number): ObjectStoreErrorKind {
  if (status === 401 || status === 403) return "denied";
  if (status === 404) return "missing";
  if (status === 413) return "too-large";
  if (status === 416) return "bad-range";
  if (status === 507) return "no-space";
  if (status === 429 || status >= 500) return "unreachable";
  if (status >= 300) return "bad-request";
  return "bad-response";
}
