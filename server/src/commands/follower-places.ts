import { Fault } from "../lib/fault.ts";
import { sharedSlots } from "../lib/shared-slots.ts";

/** Followed logs stay open as long as commands run, so only so many are followed at the same time. */
export interface FollowerPlaces {
  /** The place is free again when the signal is given. */
  take(accountId: number, ending: AbortSignal): void;
}

const PER_ACCOUNT = 20;
const PER_NODE = 200;
const RETRY_AFTER_SECONDS = 30;

export function followerPlaces(): FollowerPlaces {
  const places = sharedSlots({
    perOwner: PER_ACCOUNT,
    inAll: PER_NODE,
    refusal: () =>
      new Fault("rate-limited", "Too many logs are followed at once; ask without follow, or later.", {
        retryAfterSeconds: RETRY_AFTER_SECONDS,
      }),
  });
  return {
    take(accountId, ending) {
      const free = places.take(accountId);
      if (ending.aborted) free();
      else ending.addEventListener("abort", free, { once: true });
    },
  };
}
