import type { SparkField } from "./spark-type.ts";

/**
 * What a statement sends while it runs, in this order, with `progress` anywhere before the end:
 *
 *   schema  batch…  complete
 *
 * Each event says where it stands: who stored everything up to a position can go on exactly behind it, after a broken
 * connection or a crash of ours. A position is a text of the server's and means nothing else.
 */
export type ConnectEvent =
  | { readonly kind: "schema"; readonly fields: readonly SparkField[]; readonly position: string }
  | ConnectBatch
  /** Of the tasks known so far, 0 to 99, never less than before. Only `complete` is 100. */
  | { readonly kind: "progress"; readonly percent: number; readonly work: ConnectWork; readonly position: string }
  | { readonly kind: "complete"; readonly position: string };

/** What Spark has made of the statement so far. Tasks of stages whose outcome was there already are never completed. */
export interface ConnectWork {
  readonly stages: number;
  readonly completedStages: number;
  readonly tasks: number;
  readonly completedTasks: number;
}

/**
 * Rows. Every statement sends at least one batch, perhaps of no rows. A batch is a whole Arrow IPC stream of its own
 * (schema, record batch, end). One that is too large for a message comes in parts: their bytes one behind the other are
 * the batch.
 */
export interface ConnectBatch {
  readonly kind: "batch";
  readonly data: Uint8Array;
  /** Of the whole batch, in each of its parts. */
  readonly rowCount: number;
  /** Rows of the result before this batch. */
  readonly startRow: number;
  /** From 0. */
  readonly part: number;
  readonly parts: number;
  readonly position: string;
}
