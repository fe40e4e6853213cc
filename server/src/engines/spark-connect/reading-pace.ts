import { setImmediate as nextTurn, setTimeout as delay } from "node:timers/promises";

/** Costs are about microseconds of the main thread, on a slow machine. A message costs this besides its content. */
const MESSAGE_COST = 2;
/** After this cost other requests get their turn. */
const TURN_COST = 200;
/** Small messages then take about a tenth of the main thread, most of it in gRPC. Spark needs far less. */
const COST_PER_MS = 20;
/** Allows the largest schema without a pause. */
const BURST_COST = 25_000;

/**
 * Limits the share of the main thread that the messages of one server take. A stream of small messages without an end is
 * not refused, but read no faster than this, and the server has to wait.
 */
export class ReadingPace {
  #unpaid = 0;
  #countedAt = performance.now();
  #sinceTurn = 0;

  count(cost: number): void {
    const now = performance.now();
    this.#unpaid = Math.max(0, this.#unpaid - (now - this.#countedAt) * COST_PER_MS) + cost + MESSAGE_COST;
    this.#countedAt = now;
    this.#sinceTurn += cost + MESSAGE_COST;
  }

  /** Must be awaited before the next message of a stream is read. Ends early when the signal is aborted. */
  async giveWay(signal: AbortSignal): Promise<void> {
    if (this.#sinceTurn < TURN_COST) return;
    this.#sinceTurn = 0;
    const pauseMs = (this.#unpaid - BURST_COST) / COST_PER_MS;
    if (pauseMs > 0) await delay(pauseMs, undefined, { signal }).catch(() => undefined);
    else await nextTurn();
  }
}
