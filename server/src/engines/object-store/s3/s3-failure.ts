import { descriptions, type Failure } from "../connection-failure.ts";
import { ObjectStoreError, type ObjectStoreErrorKind } from "../object-store-error.ts";

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
const transientStatuses: readonly number[] = [429, 500, 502, 503, 504];

/** Translates an error response. Pure. */
export function failureOfStatus(subject: string, status: number, code: string | null, region: string | null): Failure {
  const kind = (code === null ? undefined : kindOfCode.get(code)) ?? kindOfStatus(status);
  const reason = [status >= 100 ? String(status) : "", code ?? ""].filter((text) => text !== "").join(" ");
  const actualRegion = region === null ? "" : `; the bucket is in the region ${region}`;
  const skewed = code === "RequestTimeTooSkewed" ? "; the clock of this server or of the store is wrong" : "";
  return {
    error: new ObjectStoreError(kind, `${subject}: ${descriptions[kind]} (${reason})${actualRegion}${skewed}`, {
      code: code ?? undefined,
    }),
    isTransient: transientStatuses.includes(status),
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
