import type { Clock } from "../lib/clock.ts";

/**
 * What happens to commands, for whoever waits. Messages between nodes only make it quick: each wait also looks at the
 * rows, with one query for all waiters of a node.
 */
export interface CommandEvents {
  /** After a submission has been committed: something may be claimed. */
  wake(): void;
  /** After a cancel has been committed: the node that runs the command looks at it. */
  cancelled(commandId: number): void;
  /**
   * Settles when the command has ended, the time is over or the signal is given; never fails. Whoever calls reads the
   * row again.
   */
  ended(commandId: number, timeoutMs: number, signal?: AbortSignal): Promise<void>;
}

/** For handlers: their services have it under this name. */
export interface WithCommandEvents {
  commandEvents: CommandEvents;
  clock: Clock;
}
