/**
 * The events of a running statement, in this order, with `progress` anywhere before the end:
 *
 *   schema  batch…  complete
 *
 * Each event has a position. A reader that stored everything up to a position can resume right after it, after a broken
 * connection or a restart of Headgate. A position is an opaque text from the server.
 */
import { readSchema } from "./read-schema.ts";
import type { SparkField } from "./spark-type.ts";
import type { ExecutePlanResponse, ExecutePlanResponse_ExecutionProgress } from "./messages/base_pb.ts";

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
interface ConnectBatch {
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

/** Turns the server's responses into events. Progress is reported only when it increases. */
export class EventReader {
  #percent = -1;
  #rows = 0;

  async read({ schema, responseType, responseId: position }: ExecutePlanResponse): Promise<ConnectEvent | undefined> {
    if (schema.length > 0) return { kind: "schema", fields: await readSchema(schema), position };
    switch (responseType.case) {
      case "arrowBatch": {
        const { data, rowCount, startOffset, chunkIndex = 0n, numChunksInBatch = 1n } = responseType.value;
        const [part, parts] = [Number(chunkIndex), Number(numChunksInBatch)];
        const startRow = startOffset === undefined ? this.#rows : Number(startOffset);
        if (part === parts - 1) this.#rows = startRow + Number(rowCount);
        return { kind: "batch", data, rowCount: Number(rowCount), startRow, part, parts, position };
      }
      case "executionProgress": {
        const work = workOf(responseType.value);
        const percent = percentOf(work);
        if (percent <= this.#percent) return undefined;
        this.#percent = percent;
        return { kind: "progress", percent, work, position };
      }
      case "resultComplete":
        return { kind: "complete", position };
      default:
        return undefined;
    }
  }
}

function workOf({ stages }: ExecutePlanResponse_ExecutionProgress): ConnectWork {
  let [completedStages, tasks, completedTasks] = [0, 0, 0];
  for (const { done, numTasks, numCompletedTasks } of stages) {
    if (done) completedStages += 1;
    tasks += Number(numTasks);
    completedTasks += Number(numCompletedTasks);
  }
  return { stages: stages.length, completedStages, tasks, completedTasks };
}

function percentOf({ tasks, completedTasks }: ConnectWork): number {
  return tasks === 0 ? 0 : Math.max(0, Math.min(99, Math.floor((100 * completedTasks) / tasks)));
}
