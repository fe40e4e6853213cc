import type { Fault } from "./fault.ts";

export interface SharedSlotsOptions {
  readonly perOwner: number;
  readonly inAll: number;
  /** The refusal if the owner has used up its share, or if all slots are taken. */
  readonly refusal: (taken: "share" | "all") => Fault;
}

/** Slots for long work. Each owner has a share, so that no owner can take all slots. */
export interface SharedSlots {
  /** Returns an idempotent function that releases the slot. */
  take(owner: number): () => void;
}

export function sharedSlots({ perOwner, inAll, refusal }: SharedSlotsOptions): SharedSlots {
  const taken = new Map<number, number>();
  let all = 0;
  const release = (owner: number): void => {
    const left = (taken.get(owner) ?? 1) - 1;
    if (left === 0) taken.delete(owner);
    else taken.set(owner, left);
    all -= 1;
  };
  return {
    take(owner) {
      const own = taken.get(owner) ?? 0;
      if (own >= perOwner) throw refusal("share");
      if (all >= inAll) throw refusal("all");
      taken.set(owner, own + 1);
      all += 1;
      let isReleased = false;
      return () => {
        if (!isReleased) release(owner);
        isReleased = true;
      };
    },
  };
}
