import { Fault } from "../lib/fault.ts";

/** Followed logs stay open as long as commands run, so there is a place for so many at once. */
export interface FollowerPlaces {
  /** The place is free again when the signal is given. */
  take(accountId: number, ending: AbortSignal): void;
}

const RETRY_AFTER_SECONDS = 30;

export function followerPlaces(perAccount = 20, perNode = 200): FollowerPlaces {
  const taken = new Map<number, number>();
  let all = 0;
  return {
    take(accountId, ending) {
      const own = taken.get(accountId) ?? 0;
      if (own >= perAccount || all >= perNode) {
        throw new Fault("rate-limited", "Too many logs are followed at once; ask without follow, or later.", {
          retryAfterSeconds: RETRY_AFTER_SECONDS,
        });
      }
      if (ending.aborted) return;
      taken.set(accountId, own + 1);
      all += 1;
      const free = (): void => {
        const left = (taken.get(accountId) ?? 1) - 1;
        if (left === 0) taken.delete(accountId);
        else taken.set(accountId, left);
        all -= 1;
      };
      ending.addEventListener("abort", free, { once: true });
    },
  };
}
