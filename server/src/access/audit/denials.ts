/**
 * Collects refusals for a moment and writes one row per token, operation and minute, so that a client that repeats a
 * refused request does not cause a write each time.
 */
import type { Queryable } from "../../db/database.ts";
import type { Clock } from "../../lib/clock.ts";
import type { Log } from "../../lib/log.ts";
import type { Caller } from "../caller.ts";
import { addDenials, type Denial } from "./store.ts";

export interface Denials {
  add(caller: Caller, operation: string): void;
  /** Writes the collected refusals; called by the timer and on stop. */
  flush(): Promise<void>;
}

const FLUSH_AFTER_MS = 500;
const MINUTE_MS = 60_000;
const FAILURE = "audit of denials failed";

export function gatherDenials(system: Queryable, clock: Clock, log: Log): Denials {
  let gathered = new Map<string, Denial>();
  let timer: NodeJS.Timeout | undefined;

  async function flush(): Promise<void> {
    clearTimeout(timer);
    timer = undefined;
    if (gathered.size === 0) return;
    const due = [...gathered.values()];
    gathered = new Map();
    const write = (): Promise<void> => addDenials(system, due);
    // Nodes that update the same counts can deadlock; one of them then tries again.
    await write()
      .catch(write)
      .catch((error: unknown) => {
        const count = due.reduce((sum, denial) => sum + denial.count, 0);
        log.error({ err: error, operations: [...new Set(due.map(({ operation }) => operation))], count }, FAILURE);
      });
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
