/** The longest that a timer of Node's can wait. */
const LONGEST_MS = 2 ** 31 - 1;

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
