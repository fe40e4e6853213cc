import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";

/** About 1 ms of parsing, after which other requests get their turn. */
const TURN_PARTS = 1000;
/** What a message costs besides its parts. */
const MESSAGE_PARTS = 10;
/** About a tenth of the main thread. Spark sends far less: rows count as one part, whatever their size. */
const PARTS_PER_MS = 100;
const BURST_PARTS = 50_000;

/**
 * Limits the share of the main thread that the messages of one server take. A stream of small messages without an end is
 * not refused, but read no faster than this, and the server has to wait.
 */
export class ReadingPace {
  #unpaid = 0;
  #paidAt = performance.now();
  #sinceTurn = 0;

  /** Must be awaited after each message of that many parts, before the next is read. */
  async pay(parts: number): Promise<void> {
    const cost = parts + MESSAGE_PARTS;
    const now = performance.now();
    this.#unpaid = Math.max(0, this.#unpaid - (now - this.#paidAt) * PARTS_PER_MS) + cost;
    this.#paidAt = now;
    this.#sinceTurn += cost;
    if (this.#sinceTurn < TURN_PARTS) return;
    this.#sinceTurn = 0;
    if (this.#unpaid > BURST_PARTS) await delay((this.#unpaid - BURST_PARTS) / PARTS_PER_MS);
    else await nextTurn();
  }
}
