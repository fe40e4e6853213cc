/** What a query may not exceed. */
export interface QueryLimits {
  /** Timeouts are looked at so often. */
  readonly checkSeconds: number;
  /** Of its log. */
  readonly logBytes: number;
  /** Whether other nodes may take this one for dead: then nothing of ours may go on where they will start it again. */
  isLeaseOver(): boolean;
}

/** The longest that a timer of Node's can wait. */
const LONGEST_MS = 2 ** 31 - 1;
const LOOK_AT_LEASE_MS = 1000;

/** After any time. What it gives back calls it off. */
export function after(milliseconds: number, act: () => void): () => void {
  const end = performance.now() + milliseconds;
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    const left = end - performance.now();
    timer = left <= 0 ? setTimeout(act, 0) : setTimeout(wait, Math.min(left, LONGEST_MS));
  };
  wait();
  return () => clearTimeout(timer);
}

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
