import type { Queryable } from "../../db/database.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Caller } from "../caller.ts";
import { addDenial, type Denial } from "./store.ts";

/**
 * Refusals are gathered for a moment and written as one row per token, operation and minute: a client that hammers a
 * closed door must not turn each knock into a write.
 */
export interface Denials {
  add(caller: Caller, operation: string): void;
  /** Writes what is gathered; on stop, and when the timer says. */
  flush(): Promise<void>;
}

const FLUSH_AFTER_MS = 500;
const MINUTE_MS = 60_000;

export function gatherDenials(system: Queryable, clock: Clock, log: Log): Denials {
  let gathered = new Map<string, Denial>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    const due = gathered;
    gathered = new Map();
    for (const denial of due.values()) {
      await addDenial(system, denial).catch((error: unknown) => {
        log.error({ err: error, operation: denial.operation, count: denial.count }, "denials could not be written");
      });
    }
  }

  return {
    add(caller, operation) {
      const minute = new Date(Math.floor(clock.now().getTime() / MINUTE_MS) * MINUTE_MS);
      const key = `${caller.tokenId} ${operation} ${minute.getTime()}`;
      const there = gathered.get(key);
      if (there !== undefined) there.count += 1;
      else {
        const { accountId, userId, tokenId, email, address, requestId } = caller;
        gathered.set(key, { accountId, userId, tokenId, email, address, operation, requestId, minute, count: 1 });
      }
      timer ??= setTimeout(() => void flush(), FLUSH_AFTER_MS).unref();
    },
    flush,
  };
}
