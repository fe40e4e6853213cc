import { setImmediate as nextTurn } from "node:timers/promises";
import { sortRecords, type RecordSorter } from "../sorted-file/record-sorter.ts";
import type { SortedRecords } from "../sorted-file/sorted-records.ts";
import type { PlanContext } from "./plan-context.ts";

/** Long loops let timers and connections run after this many records. */
export const TURN_RECORDS = 2000;

/** The sorted files of a plan, which stay open until the plan is closed or they are released. */
export class PlanFiles {
  readonly #context: Pick<PlanContext, "scratchFolder" | "signal">;
  readonly #open = new Set<{ close(): void }>();

  constructor(context: Pick<PlanContext, "scratchFolder" | "signal">) {
    this.#context = context;
  }

  /** Sorts the records that `fill` adds. */
  async sort(fill: (sorter: RecordSorter) => Promise<void>): Promise<SortedRecords> {
    return this.keep(await sortRecords(this.#context.scratchFolder, fill, this.#context.signal));
  }

  keep<T extends { close(): void }>(file: T): T {
    this.#open.add(file);
    return file;
  }

  release(...files: readonly { close(): void }[]): void {
    for (const file of files) {
      file.close();
      this.#open.delete(file);
    }
  }

  close(): void {
    this.release(...this.#open);
  }

  /** Lets timers and connections run. Fails if the plan is not needed any more. */
  async turn(): Promise<void> {
    this.#context.signal?.throwIfAborted();
    await nextTurn();
  }
}
