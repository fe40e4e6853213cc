import type { Fault } from "./fault.ts";

export interface SharedPlacesOptions {
  readonly perOwner: number;
  readonly inAll: number;
  /** What a caller is told when its owner has taken every place of its share, or when all places are taken. */
  readonly refusal: (taken: "share" | "all") => Fault;
}

/** Places for work that lasts. Each owner has a share, so that no owner can take every place. */
export interface SharedPlaces {
  /** Returns what frees the place, which may be called again. */
  take(owner: number): () => void;
}

export function sharedPlaces({ perOwner, inAll, refusal }: SharedPlacesOptions): SharedPlaces {
  const taken = new Map<number, number>();
  let all = 0;
  const free = (owner: number): void => {
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
      let isFree = false;
      return () => {
        if (!isFree) free(owner);
        isFree = true;
      };
    },
  };
}
