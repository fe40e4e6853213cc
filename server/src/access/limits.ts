/**
 * Rate limits for requests per token and for invalid tokens per address. 0 disables a limit. Memory is bounded: the
 * least recently used entries are dropped.
 */
import { LRUCache } from "lru-cache";
import type { Clock } from "../lib/clock.ts";
import { Fault } from "../lib/fault.ts";

export interface Limits {
  /** Refuses if a valid token sends too many requests. */
  takeRequest(tokenId: number): void;
  /** Refuses if an address sends too many invalid tokens; valid tokens from there are not affected. */
  takeBadToken(address: string): void;
}

export interface LimitSettings {
  rateLimitPerSecond: number;
  rateBurst: number;
  badTokenLimitPerMinute: number;
}

const MAX_REMEMBERED = 10_000;

export function limitsOf(settings: LimitSettings, clock: Clock): Limits {
  const requests = buckets(settings.rateLimitPerSecond, settings.rateBurst, clock);
  const badTokens = buckets(settings.badTokenLimitPerMinute / 60, settings.badTokenLimitPerMinute, clock);
  return { takeRequest: requests, takeBadToken: badTokens };
}

function buckets(perSecond: number, burst: number, clock: Clock): (key: number | string) => void {
  if (perSecond === 0) return () => undefined;
  const known = new LRUCache<number | string, TokenBucket>({ max: MAX_REMEMBERED });
  return (key) => {
    let bucket = known.get(key);
    if (bucket === undefined) {
      bucket = new TokenBucket(perSecond, burst);
      known.set(key, bucket);
    }
    const waitSeconds = bucket.take(clock.now().getTime());
    if (waitSeconds > 0) {
      throw new Fault("rate-limited", "Too many requests. Wait for the time in Retry-After.", {
        retryAfterSeconds: waitSeconds,
      });
    }
  };
}

/**
 * A rate limit with a burst: `take` returns 0, or the seconds to wait. It refills by the given time and needs no timer.
 */
class TokenBucket {
  readonly #perSecond: number;
  readonly #burst: number;
  #tokens: number;
  #refilledAtMs: number | undefined;

  constructor(perSecond: number, burst: number) {
    this.#perSecond = perSecond;
    this.#burst = burst;
    this.#tokens = burst;
  }

  take(nowMs: number): number {
    const elapsedSeconds = Math.max(0, nowMs - (this.#refilledAtMs ?? nowMs)) / 1000;
    this.#refilledAtMs = nowMs;
    this.#tokens = Math.min(this.#burst, this.#tokens + elapsedSeconds * this.#perSecond);
    if (this.#tokens < 1) return (1 - this.#tokens) / this.#perSecond;
    this.#tokens -= 1;
    return 0;
  }
}
