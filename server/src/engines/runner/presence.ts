import { writeLease } from "./lease.ts";
import { monotonicMs } from "./monotonic.ts";

const beatEveryMs = 1000;

/** Shows runners that the server is alive, until it is stopped or killed. Unlike a lease, this needs no database. */
export function renewPresence(path: string, bootId: string): { stop(): void } {
  const beat = (): void => {
    try {
      writeLease(path, { bootId, renewedAtMs: monotonicMs() });
    } catch {
      // The next beat may succeed; runners wait for minutes.
    }
  };
  beat();
  const timer = setInterval(beat, beatEveryMs).unref();
  return { stop: () => clearInterval(timer) };
}
