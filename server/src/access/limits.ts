import { LRUCache } from "lru-cache";
import type { Clock } from "../lib/clock.ts";
import { Fault } from "../lib/fault.ts";
import { TokenBucket } from "../lib/token-bucket.ts";

/** Requests a token, and bad tokens an address. 0 turns a limit off. Memory is bounded: the least recent is forgotten. */
export interface Limits {
  /** Refuses a known token that asks too often. */
  takeRequest(tokenId: number): void;
  /** Refuses an address that tries too many bad tokens; good tokens from there are never asked. */
  takeBadToken(address: string): void;
}

export interface LimitSettings {
  rateLimitPerSecond: number;
  rateBurst: number;
  badTokenLimitPerMinute: number;
}

const REMEMBERED = 10_000;

export function limitsOf(settings: LimitSettings, clock: Clock): Limits {
  const requests = buckets(settings.rateLimitPerSecond, settings.rateBurst, clock);
  const badTokens = buckets(settings.badTokenLimitPerMinute / 60, settings.badTokenLimitPerMinute, clock);
  return { takeRequest: requests, takeBadToken: badTokens };
}

function buckets(perSecond: number, burst: number, clock: Clock): (key: number | string) => void {
  if (perSecond === 0) return () => undefined;
  const known = new LRUCache<number | string, TokenBucket>({ max: REMEMBERED });
  return (key) => {
    let bucket = known.get(key);
    if (bucket === undefined) {
      bucket = new TokenBucket(perSecond, burst);
      known.set(key, bucket);
    }
    const waitSeconds = bucket.take(clock.now().getTime());
    if (waitSeconds > 0) {
      throw new Fault("rate-limited", "Too many requests. Wait as Retry-After says.", {
        retryAfterSeconds: waitSeconds,
      });
    }
  };
}
