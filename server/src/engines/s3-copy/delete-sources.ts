/** Deletes the sources of a finished copy (`--deleteOnSuccess`), and says what became of those that remain. */
import { CopyError } from "./copy-error.ts";
import type { CopiedSource } from "./finished-outputs.ts";
import type { NotedSource } from "./journal-line.ts";
import type { KeptSource } from "./storage/storage.ts";
import type { Storages } from "./storage/storages.ts";

const BATCH = 192;
const NAMES_IN_ERROR = 5;
const LINES_IN_LOG = 1000;

const EXPLANATIONS: Record<KeptSource["why"], string> = {
  changed: "not deleted, because it has changed since it was copied",
  refused: "could not be deleted",
  unknown: "it is unknown whether it was deleted, because the store did not answer",
};

/**
 * Continues after a source that has changed. Ends if the store refuses or does not answer, because it would do the same
 * with the others. Throws if a source may still exist.
 */
export async function deleteSources(
  copied: AsyncIterable<CopiedSource>,
  storages: Pick<Storages, "ofSource">,
  log: (line: string) => void,
): Promise<void> {
  const kept = new KeptSources(log);
  let batch: NotedSource[] = [];
  const remove = async (): Promise<void> => {
    const [first] = batch; // all sources are in one kind of store
    if (first === undefined) return;
    if (kept.isStopped) kept.countUntried(batch.length);
    else kept.add(batch.length, await storages.ofSource(first.uri).remove(batch));
    batch = [];
  };
  for await (const { source } of copied) {
    batch.push(source);
    if (batch.length === BATCH) await remove();
  }
  await remove();
  kept.throwIfAny();
}

class KeptSources {
  readonly #log: (line: string) => void;
  readonly #counts: Record<KeptSource["why"], number> = { changed: 0, refused: 0, unknown: 0 };
  readonly #names: Record<KeptSource["why"], string[]> = { changed: [], refused: [], unknown: [] };
  #total = 0;
  #untried = 0;

  constructor(log: (line: string) => void) {
    this.#log = log;
  }

  get isStopped(): boolean {
    return this.#counts.refused + this.#counts.unknown > 0;
  }

  get #kept(): number {
    return this.#counts.changed + this.#counts.refused + this.#counts.unknown;
  }

  add(count: number, kept: readonly KeptSource[]): void {
    this.#total += count;
    for (const { uri, why, detail } of kept) {
      const reason = detail === "" ? "" : ` (${detail})`;
      if (this.#kept < LINES_IN_LOG) this.#log(`${uri}: ${EXPLANATIONS[why]}${reason}`);
      this.#counts[why] += 1;
      if (this.#names[why].length < NAMES_IN_ERROR) this.#names[why].push(`${uri}${reason}`);
    }
  }

  countUntried(count: number): void {
    this.#total += count;
    this.#untried += count;
  }

  throwIfAny(): void {
    const { changed, refused, unknown } = this.#counts;
    if (this.#kept === 0) return;
    const deleted = this.#total - this.#kept - this.#untried;
    const texts = [
      changed === 0 ? "" : `kept, because they have changed since they were copied: ${this.#list("changed")}`,
      refused === 0 ? "" : `could not be deleted: ${this.#list("refused")}`,
      unknown === 0 ? "" : `may have been deleted (the store did not answer): ${this.#list("unknown")}`,
      this.#untried === 0 ? "" : `not tried: ${this.#untried}`,
    ];
    const others = texts.filter((text) => text !== "").join("; ");
    throw new CopyError(`${deleted} of ${this.#total} sources were deleted; ${others}`);
  }

  #list(why: KeptSource["why"]): string {
    const names = this.#names[why];
    const count = this.#counts[why];
    const named = this.#kept > LINES_IN_LOG ? `the first ${LINES_IN_LOG.toLocaleString("en")}` : "them";
    const more = count > names.length ? `, … (${count} sources; the log names ${named})` : "";
    return `${names.join(", ")}${more}`;
  }
}
