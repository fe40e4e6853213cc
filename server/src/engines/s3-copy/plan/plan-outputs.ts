import type { ManifestEntry } from "../manifest/manifest-entry.ts";
import type { SortedRecords } from "../sorted-file/sorted-records.ts";
import { checkSize, manifestClash } from "./check-outputs.ts";
import { digestOf } from "./members-digest.ts";
import { NewSources } from "./new-sources.ts";
import { checkName } from "./output-names.ts";
import { decodeOutput, SingleOutput } from "./output-record.ts";
import type { PlanContext, PlanOptions, PlanSummary } from "./plan-context.ts";
import { PlanFiles, TURN_RECORDS } from "./plan-files.ts";
import type { PlannedOutput, SourceFile } from "./planned-output.ts";
import { EarlierOutputs, withOriginal } from "./skip-done.ts";
import { sortOutputs } from "./sort-outputs.ts";
import { SourceSelection } from "./source-selection.ts";

/**
 * Plans the outputs of a copy. `sources` are pages in no particular order. Throws a `CopyArgumentError` if a pattern is
 * wrong, and a `CopyError` while it is iterated.
 *
 * A plain copy yields each output as soon as its source is listed. If names change, sources may repeat, or files may have
 * to be skipped, the plan is complete before the first output, and comes in the byte order of names:
 *
 *   sources ─▶ [by path: compared with the manifest] ─▶ [by group] ─▶ by output name ─▶ [by numbered name] ─▶ checked
 *
 * Each step is a file of records that is sorted by a key. Nothing in memory grows with the number of files.
 */
export function planOutputs(
  sources: AsyncIterable<readonly SourceFile[]>,
  options: PlanOptions,
  context: PlanContext,
): CopyPlan {
  return new CopyPlan(sources, options, context);
}

export class CopyPlan implements AsyncIterable<PlannedOutput> {
  readonly summary: PlanSummary = {
    listedFiles: 0,
    matchedFiles: 0,
    skippedFiles: 0,
    doneOutputs: 0,
    doneFiles: 0,
    doneBytes: 0,
  };
  readonly #sources: AsyncIterable<readonly SourceFile[]>;
  readonly #options: PlanOptions;
  readonly #context: PlanContext;
  readonly #selection: SourceSelection;
  readonly #files: PlanFiles;
  readonly #newSources: NewSources;
  #superseded: SortedRecords | null = null;

  constructor(sources: AsyncIterable<readonly SourceFile[]>, options: PlanOptions, context: PlanContext) {
    const { summary } = this;
    this.#sources = sources;
    this.#options = options;
    this.#context = context;
    const selection = new SourceSelection(options, context, summary);
    const files = new PlanFiles(context);
    this.#selection = selection;
    this.#files = files;
    this.#newSources = new NewSources({ sources, context, selection, files, summary });
  }

  /** Can be called once. */
  [Symbol.asyncIterator](): AsyncIterator<PlannedOutput> {
    return this.#isPlain() ? this.#stream() : this.#sorted();
  }

  /** Entries of the previous manifest whose files are not copied again; complete once an output was yielded. */
  carriedOver(): Generator<ManifestEntry> {
    return this.#newSources.carriedOver();
  }

  /** Names that earlier attempts have begun and that are not planned any more; complete after the last output. */
  *superseded(): Generator<string> {
    for (const cursor = this.#superseded?.cursor(); cursor?.advance() === true;) yield cursor.key;
  }

  /** Frees the plan's disk space. Afterwards, `sources()` of an output with several sources cannot be called. */
  close(): void {
    this.#files.close();
  }

  #isPlain(): boolean {
    const { groupBy, outputCodec, startingIndex, srcPrefixesFile, copyFromManifest } = this.#options;
    const isRenamed = groupBy !== null || outputCodec !== null || startingIndex !== null;
    const isCompared = this.#context.previousManifest !== undefined || this.#context.earlier !== undefined;
    return !isRenamed && !isCompared && srcPrefixesFile === null && !copyFromManifest;
  }

  async *#stream(): AsyncGenerator<PlannedOutput> {
    const { destinationScheme, manifestName, largestBytes = null } = this.#context;
    for await (const page of this.#sources) {
      for (const source of page) {
        if (this.#selection.select(source) === null) continue;
        checkName(source.name, destinationScheme, source);
        if (source.name === manifestName) throw manifestClash(source.name);
        const output = new SingleOutput(source.name, source, null);
        checkSize(output, largestBytes);
        yield output;
      }
    }
  }

  async *#sorted(): AsyncGenerator<PlannedOutput> {
    const [options, context, files] = [this.#options, this.#context, this.#files];
    const { scratchFolder, signal } = context;
    const { outputs, members } = await sortOutputs({ sources: this.#newSources, options, context, files });
    const given = context.earlier;
    const earlier = given === undefined ? null : files.keep(await EarlierOutputs.read(given, scratchFolder, signal));
    let previous = "";
    for (const cursor = outputs.cursor(); cursor.advance();) {
      const { key: name } = cursor;
      if (name === previous) continue; // its source was listed twice
      previous = name;
      const output = decodeOutput(name, cursor.value, members);
      const { digest, original } = earlier?.find(name) ?? { digest: null, original: null };
      if (digest !== null && digest === (await digestOf(output))) await this.#countDone(output);
      else yield original === null ? output : withOriginal(output, original);
    }
    if (earlier !== null) this.#superseded = files.keep(await earlier.superseded(signal));
  }

  async #countDone({ sourceCount, bytes }: PlannedOutput): Promise<void> {
    const { summary } = this;
    summary.doneOutputs += 1;
    summary.doneFiles += sourceCount;
    summary.doneBytes += bytes;
    if (summary.doneOutputs % TURN_RECORDS === 0) await this.#files.turn();
  }
}
