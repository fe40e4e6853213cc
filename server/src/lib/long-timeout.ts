/** The longest delay that a timer of Node allows. */
const MAX_TIMER_MS = 2 ** 31 - 1;

/** Calls `act` after any delay, even a longer one than a single timer allows. Returns a function that cancels it. */
export function longTimeout(milliseconds: number, act: () => void): () => void {
  const end = performance.now() + milliseconds;
  let timer: NodeJS.Timeout | undefined;
  const wait = (): void => {
    const left = end - performance.now();
    timer = left <= 0 ? setTimeout(act, 0) : setTimeout(wait, Math.min(left, MAX_TIMER_MS));
  };
  wait();
  return () => clearTimeout(timer);
}
