import { LRUCache } from "lru-cache";
import type { Database } from "../db/database.ts";
import type { Arrival, Gate } from "../http/gate.ts";
import { notFound } from "../http/input.ts";
import type { Clock } from "../lib/clock.ts";
import { Fault } from "../lib/fault.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import type { Log } from "../lib/log.ts";
import { TokenBucket } from "../lib/token-bucket.ts";
import { authenticate, type Authenticated } from "./authenticate.ts";
import type { Denials } from "./audit/denials.ts";
import type { Caller } from "./caller.ts";
import { changeFor } from "./change.ts";
import { checkIdempotencyKey, idempotentReply, keptReply } from "./idempotency.ts";
import { normalAddress } from "./whitelist/ip-address.ts";
import type { Admitted, OperationAccess, Visitor } from "./operation.ts";
import { isPermitted } from "./permission.ts";
import { isWellFormedToken } from "./token.ts";
import { touchLastLogin } from "./store.ts";

/**
 * Who may pass. In this order: the token (401), the limits (429), the membership's state and the address (403), the
 * permission (403, or 404 on operator routes). Refusals of a known caller are audited.
 */
export interface GateOptions {
  db: Database;
  keys: KeyRing;
  denials: Denials;
  clock: Clock;
  log: Log;
  rateLimitPerSecond: number;
  rateBurst: number;
  badTokenLimitPerMinute: number;
}

/** Null: the operation is public and nobody is known. */
export type Admission = { caller: Caller; rawBody: Buffer | undefined } | null;

const LAST_LOGIN_STALE_MS = 10 * 60_000;
const REMEMBERED = 10_000;

export function accessGate(options: GateOptions): Gate<OperationAccess, Admission, Admitted> {
  const { db, keys, denials, clock, log } = options;
  const requests = new LRUCache<number, TokenBucket>({ max: REMEMBERED });
  const badTokens = new LRUCache<string, TokenBucket>({ max: REMEMBERED });

  function refuseToken(address: string, message: string): never {
    const perMinute = options.badTokenLimitPerMinute;
    if (perMinute > 0) limit(badTokens, address, perMinute / 60, perMinute);
    throw new Fault("unauthenticated", message);
  }

  function limit<K extends string | number>(
    buckets: LRUCache<K, TokenBucket>,
    key: K,
    perSecond: number,
    burst: number,
  ): void {
    let bucket = buckets.get(key);
    if (bucket === undefined) {
      bucket = new TokenBucket(perSecond, burst);
      buckets.set(key, bucket);
    }
    const waitSeconds = bucket.take(clock.now().getTime());
    if (waitSeconds > 0) {
      throw new Fault("rate-limited", "Too many requests. Wait as Retry-After says.", {
        retryAfterSeconds: waitSeconds,
      });
    }
  }

  function noteLogin({ caller, lastLogin }: Authenticated): void {
    const now = clock.now();
    if (lastLogin !== null && now.getTime() - lastLogin.getTime() < LAST_LOGIN_STALE_MS) return;
    touchLastLogin(db.system, caller.membershipId, now).catch((error: unknown) => {
      log.warn({ err: error }, "the time of a login could not be written");
    });
  }

  return {
    async admit(endpoint, arrival) {
      const { permission } = endpoint.access;
      if (permission === "public") return null;
      const { token, address: peer, requestId } = arrival;
      if (token === undefined || token === "") {
        throw new Fault("unauthenticated", "The header X-AUTH-TOKEN is missing.");
      }
      const address = normalAddress(peer);
      const known = isWellFormedToken(token) ? await authenticate(db.system, token, address, requestId) : undefined;
      if (known === undefined) return refuseToken(address, "The token in X-AUTH-TOKEN is not valid.");
      const { caller } = known;
      if (options.rateLimitPerSecond > 0)
        limit(requests, caller.tokenId, options.rateLimitPerSecond, options.rateBurst);

      const refusal = refusalOf(known);
      if (refusal !== undefined) {
        denials.add(caller, endpoint.id);
        throw new Fault("forbidden", refusal);
      }
      if (permission === "operator" && !caller.isOperator) throw notFound();
      if (typeof permission === "object" && !isPermitted(permission, caller)) {
        denials.add(caller, endpoint.id);
        throw new Fault("forbidden", `You may not do this: it needs ${describePermission(permission)}.`);
      }
      noteLogin(known);
      return { caller, rawBody: undefined };
    },

    async enter(endpoint, admission, arrival) {
      const visitor: Visitor = { address: normalAddress(arrival.address), requestId: arrival.requestId };
      // Public operations are defined by `publicOperation`, whose handlers know of no caller.
      if (admission === null) return visitor as Admitted;
      const { caller } = admission;
      const key = endpoint.method === "POST" ? arrival.idempotencyKey : undefined;
      return {
        ...visitor,
        caller,
        reader: db.accountReader(caller.accountId),
        // The body is known by the time a change runs: replay() keeps it.
        change: (work, scope) => {
          const kept =
            key === undefined
              ? undefined
              : idempotentReply(keys, scopeOf(caller, arrival, key), admission.rawBody ?? Buffer.alloc(0));
          return changeFor(db, caller, endpoint.id, kept)(work, scope);
        },
      };
    },

    async replay(admission, arrival, rawBody) {
      if (admission === null || arrival.idempotencyKey === undefined) return undefined;
      checkIdempotencyKey(arrival.idempotencyKey);
      admission.rawBody = rawBody;
      return keptReply(db, keys, scopeOf(admission.caller, arrival, arrival.idempotencyKey), rawBody);
    },

    describe: (admission) =>
      admission === null ? {} : { accountId: admission.caller.accountId, userId: admission.caller.userId },
  };
}

function refusalOf({ state, addressAllowed }: Authenticated): string | undefined {
  if (!addressAllowed) return "Your address is not whitelisted for this account.";
  switch (state) {
    case "pending":
      return "Your user waits for approval: an administrator of the account must enable it.";
    case "disabled":
      return "Your user is disabled in this account.";
    case "active":
      return undefined;
  }
}

function describePermission({ groups, role }: { groups: readonly string[]; role: string }): string {
  return `membership in ${groups.join(" or ")}, or a role that allows ${role}`;
}

function scopeOf(caller: Caller, { method, path }: Arrival, key: string) {
  return { caller, method, path, key };
}
