/** What a query may not exceed. */
export interface QueryLimits {
  /** Timeouts are looked at so often. */
  readonly checkSeconds: number;
  /** Of its log. */
  readonly logBytes: number;
  /** Of the result of a statement. Null: no limit. */
  readonly outputBytes: number | null;
  /** Whether other nodes may take this one for dead: then nothing of ours may go on where they will start it again. */
  isLeaseOver(): boolean;
}

const LOOK_AT_LEASE_MS = 1000;

/** What it gives back ends the watch. */
export function whenLeaseIsOver(limits: QueryLimits, act: () => void): () => void {
  const timer = setInterval(() => {
    if (!limits.isLeaseOver()) return;
    clearInterval(timer);
    act();
  }, LOOK_AT_LEASE_MS);
  timer.unref();
  return () => clearInterval(timer);
}
