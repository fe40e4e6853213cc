import type { ConnectEvent, ConnectWork } from "./connect-event.ts";
import type { ExecutePlanResponse, ExecutePlanResponse_ExecutionProgress } from "./messages/base_pb.ts";
import { fieldsOfSchema } from "./spark-type-of-message.ts";

/** Turns the server's responses into events. Progress is reported only when it increases. */
export class EventReader {
  #percent = -1;
  #rows = 0;

  read({ schema, responseType, responseId: position }: ExecutePlanResponse): ConnectEvent | undefined {
    if (schema !== undefined) return { kind: "schema", fields: fieldsOfSchema(schema), position };
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
  const sum = (of: (stage: (typeof stages)[number]) => bigint): number =>
    stages.reduce((total, stage) => total + Number(of(stage)), 0);
  return {
    stages: stages.length,
    completedStages: stages.filter(({ done }) => done).length,
    tasks: sum(({ numTasks }) => numTasks),
    completedTasks: sum(({ numCompletedTasks }) => numCompletedTasks),
  };
}

function percentOf({ tasks, completedTasks }: ConnectWork): number {
  return tasks === 0 ? 0 : Math.max(0, Math.min(99, Math.floor((100 * completedTasks) / tasks)));
}
