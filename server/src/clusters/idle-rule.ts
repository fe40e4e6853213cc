/**
 * When an idle cluster ends. Pure; idle is a cluster on which no command waits or runs.
 *
 * | timeout | ends |
 * |---|---|
 * | hours | at the first hour boundary of its up time at which it has been idle that long; 0: at which it is idle |
 * | seconds (feature) | as soon as it has been idle that long |
 *
 * The cluster's own timeout counts, the account's where it has none; seconds count before hours, and only while the
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

/** The moment it ends, if it stays idle until then. Before it was up nothing counts. */
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
