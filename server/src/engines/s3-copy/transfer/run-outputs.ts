import { setImmediate as nextTurn } from "node:timers/promises";
import type { PlannedOutput } from "../plan/planned-output.ts";

export interface RunOutputsOptions {
  /** Outputs whose names are written to the journal together. */
  readonly batchSize: number;
  /** Outputs at the same time. */
  readonly slots: number;
  /** Resolves when the names are on the disk. */
  readonly begin: (names: readonly string[]) => Promise<void>;
  readonly run: (output: PlannedOutput) => Promise<void>;
}

/**
 * Runs outputs as they are planned, several at a time. None starts before its name is in the journal. The first failure
 * ends everything: running outputs are waited for, and no other starts.
 */
export async function runOutputs(outputs: AsyncIterable<PlannedOutput>, options: RunOutputsOptions): Promise<void> {
  const pool = new Pool(options.slots, options.run);
  try {
    for await (const batch of batchesOf(outputs, options.batchSize)) {
      await options.begin(batch.map(({ name }) => name));
      for (const output of batch) await pool.start(output);
    }
  } finally {
    await pool.settle();
  }
  pool.throwIfFailed();
}

/** A batch ends when it is full, or when the next output is not ready yet. */
async function* batchesOf(outputs: AsyncIterable<PlannedOutput>, size: number): AsyncGenerator<PlannedOutput[]> {
  const iterator = outputs[Symbol.asyncIterator]();
  try {
    let batch: PlannedOutput[] = [];
    for (let next = iterator.next(); ; next = iterator.next()) {
      let step = batch.length === 0 ? await next : await Promise.race([next, nextTurn()]);
      if (step === undefined || batch.length >= size) {
        yield batch;
        batch = [];
        step = await next;
      }
      if (step.done === true) break;
      batch.push(step.value);
    }
    if (batch.length > 0) yield batch;
  } finally {
    await iterator.return?.();
  }
}

class Pool {
  readonly #slots: number;
  readonly #run: (output: PlannedOutput) => Promise<void>;
  readonly #running = new Set<Promise<void>>();
  #failure: { readonly error: unknown } | undefined;
  #freed: (() => void) | undefined;

  constructor(slots: number, run: (output: PlannedOutput) => Promise<void>) {
    this.#slots = slots;
    this.#run = run;
  }

  /** Resolves when the output has started. */
  async start(output: PlannedOutput): Promise<void> {
    if (this.#running.size >= this.#slots) await new Promise<void>((freed) => (this.#freed = freed));
    this.throwIfFailed();
    const running: Promise<void> = this.#run(output)
      .catch((error: unknown) => {
        this.#failure ??= { error };
      })
      .finally(() => this.#end(running));
    this.#running.add(running);
  }

  async settle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  throwIfFailed(): void {
    if (this.#failure !== undefined) throw this.#failure.error;
  }

  #end(running: Promise<void>): void {
    this.#running.delete(running);
    this.#freed?.();
    this.#freed = undefined;
  }
}
