import type { SparkField } from "./spark-type.ts";

/**
 * The events of a running statement, in this order, with `progress` anywhere before the end:
 *
 *   schema  batch…  complete
 *
 * Each event has a position. A reader that stored everything up to a position can resume right after it, after a broken
 * connection or a restart of Headgate. A position is an opaque text from the server.
 */
export type ConnectEvent =
  | { readonly kind: "schema"; readonly fields: readonly SparkField[]; readonly position: string }
  | ConnectBatch
  /** The percentage of completed tasks among those known so far, 0 to 99. It never decreases. */
  | { readonly kind: "progress"; readonly percent: number; readonly work: ConnectWork; readonly position: string }
  | { readonly kind: "complete"; readonly position: string };

/** The stages and tasks of the statement so far. Tasks of skipped stages are never completed. */
export interface ConnectWork {
  readonly stages: number;
  readonly completedStages: number;
  readonly tasks: number;
  readonly completedTasks: number;
}

/**
 * Every statement sends at least one batch, possibly without rows. A batch is a complete Arrow IPC stream (schema,
 * record batch, end). A batch that is too large for a message comes in parts; their concatenated bytes are the batch.
 */
export interface ConnectBatch {
  readonly kind: "batch";
  readonly data: Uint8Array;
  /** Rows of the whole batch, the same in each of its parts. */
  readonly rowCount: number;
  /** The number of rows before this batch. */
  readonly startRow: number;
  /** Counted from 0. */
  readonly part: number;
  readonly parts: number;
  readonly position: string;
}
