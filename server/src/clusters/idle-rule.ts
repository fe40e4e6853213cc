/**
 * When an idle cluster ends. Pure. A cluster is idle while none of its commands waits or runs.
 *
 * | timeout | ends |
 * |---|---|
 * | hours | at the first full hour of its uptime at which it has been idle that long; 0: at which it is idle |
 * | seconds (feature) | as soon as it has been idle that long |
 *
 * The cluster's own timeout takes precedence over the account's, and seconds over hours; seconds count only while the
 * account has the feature.
 */
export type IdleTimeout = { readonly hours: number } | { readonly seconds: number };

export interface TimeoutSettings {
  readonly hours: number | null;
  readonly seconds: number | null;
}

const HOUR_MS = 3_600_000;

export function idleTimeoutOf(
  cluster: TimeoutSettings,
  account: TimeoutSettings & { readonly hours: number; readonly countsSeconds: boolean },
): IdleTimeout {
  const { countsSeconds } = account;
  if (countsSeconds && cluster.seconds !== null) return { seconds: cluster.seconds };
  if (cluster.hours !== null) return { hours: cluster.hours };
  if (countsSeconds && account.seconds !== null) return { seconds: account.seconds };
  return { hours: account.hours };
}

/** When it ends if it stays idle until then. Idle time before it was up does not count. */
export function idleEnd({
  upSince,
  idleSince,
  timeout,
}: {
  upSince: Date;
  idleSince: Date;
  timeout: IdleTimeout;
}): Date {
  const from = upSince.getTime();
  const idleFrom = Math.max(from, idleSince.getTime());
  if ("seconds" in timeout) return new Date(idleFrom + timeout.seconds * 1000);
  const boundary = Math.ceil((idleFrom + timeout.hours * HOUR_MS - from) / HOUR_MS);
  return new Date(from + Math.max(1, boundary) * HOUR_MS);
}
