import { setImmediate as nextTurn } from "node:timers/promises";
import { codecOf } from "../codecs/codec-table.ts";
import type { ManifestEntry } from "../manifest/manifest-entry.ts";
import type { CopyOptions } from "../options/copy-options.ts";
import { compileGroupPattern, compilePathPattern, type PathPattern } from "../pattern/path-pattern.ts";
import { checkOutputs, checkSize, manifestClash } from "./check-outputs.ts";
import { groupSources, lastSegment } from "./group-sources.ts";
import { digestOf } from "./members-digest.ts";
import {
  checkDecodable,
  checkName,
  numberedName,
  outputName,
  recodingOf,
  type DestinationScheme,
} from "./output-names.ts";
import { decodeOutput, encodeSingle, memberKey, SingleOutput } from "./output-record.ts";
import type { PlannedOutput, SourceFile } from "./planned-output.ts";
import { compareWithManifest, readEntries, sortManifest } from "./previous-manifest.ts";
import { RecordSorter } from "../sorted-file/record-sorter.ts";
import { EarlierOutputs, withOriginal, type EarlierOutput } from "./skip-done.ts";
import type { SortedRecords } from "../sorted-file/sorted-records.ts";
import { isFolderMarker, SEPARATOR, sourceKey, sourceValue } from "./source-record.ts";

export type PlanOptions = Pick<
  CopyOptions,
  "srcPattern" | "groupBy" | "targetSizeMiB" | "outputCodec" | "startingIndex" | "srcPrefixesFile" | "copyFromManifest"
>;

export interface PlanContext {
  /** The folder for the files of the plan. */
  readonly scratchFolder: string;
  readonly destinationScheme: DestinationScheme;
  /** The largest size of an output; null: any size. */
  readonly largestBytes?: number | null;
  /** The scheme of the URIs that patterns match, if it is another one than the sources have. */
  readonly srcScheme?: string | null;
  /** The entries of `previousManifest`, unless they are the sources. */
  readonly previousManifest?: AsyncIterable<ManifestEntry> | undefined;
  /** The events of earlier attempts. Outputs that are done with the same sources are not planned again. */
  readonly earlier?: AsyncIterable<EarlierOutput> | undefined;
  /** No output may have this name. */
  readonly manifestName?: string | null;
  readonly signal?: AbortSignal | undefined;
}

/** Grows while the sources are listed. */
export interface PlanSummary {
  /** Without markers of folders. */
  listedFiles: number;
  /** Files that the pattern selects; all if there is none. */
  matchedFiles: number;
  /** Matching files that the previous manifest lists. */
  skippedFiles: number;
  /** Outputs of earlier attempts that are not copied again, and their sources. */
  doneOutputs: number;
  doneFiles: number;
  doneBytes: number;
}

/**
 * Plans the outputs of a copy. `sources` are pages in no particular order. Throws a `CopyArgumentError` if a pattern is
 * wrong, and a `CopyPlanError` while it is iterated.
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
  readonly #pattern: PathPattern | null;
  readonly #open = new Set<{ close(): void }>();
  #carried: SortedRecords | null = null;
  #superseded: SortedRecords | null = null;

  constructor(sources: AsyncIterable<readonly SourceFile[]>, options: PlanOptions, context: PlanContext) {
    const { srcPattern, groupBy } = options;
    this.#sources = sources;
    this.#options = options;
    this.#context = context;
    if (groupBy !== null) this.#pattern = compileGroupPattern(groupBy);
    else this.#pattern = srcPattern === null ? null : compilePathPattern(srcPattern);
  }

  /** Can be called once. */
  [Symbol.asyncIterator](): AsyncIterator<PlannedOutput> {
    return this.#isPlain() ? this.#stream() : this.#sorted();
  }

  /** Entries of the previous manifest whose files are not copied again; complete once an output was yielded. */
  *carriedOver(): Generator<ManifestEntry> {
    if (this.#carried !== null) yield* readEntries(this.#carried);
  }

  /** Names that earlier attempts have begun and that are not planned any more; complete after the last output. */
  *superseded(): Generator<string> {
    for (const cursor = this.#superseded?.cursor(); cursor?.advance() === true;) yield cursor.key;
  }

  /** Frees the plan's disk space. Afterwards, `sources()` of an output with several sources cannot be called. */
  close(): void {
    for (const file of this.#open) file.close();
    this.#open.clear();
  }

  #isPlain(): boolean {
    const { groupBy, outputCodec, startingIndex, srcPrefixesFile, copyFromManifest } = this.#options;
    const isRenamed = groupBy !== null || outputCodec !== null || startingIndex !== null;
    const isCompared = this.#context.previousManifest !== undefined || this.#context.earlier !== undefined;
    return !isRenamed && !isCompared && srcPrefixesFile === null && !copyFromManifest;
  }

  async *#stream(): AsyncGenerator<PlannedOutput> {
    for await (const page of this.#sources) {
      for (const source of page) {
        if (this.#select(source) === null) continue;
        checkName(source.name, this.#context.destinationScheme, source);
        if (source.name === this.#context.manifestName) throw manifestClash(source.name);
        const output = new SingleOutput(source.name, source, null);
        checkSize(output, this.#context.largestBytes ?? null);
        yield output;
      }
    }
  }

  async *#sorted(): AsyncGenerator<PlannedOutput> {
    const { scratchFolder, signal } = this.#context;
    const { outputs, members } = await this.#plan();
    const given = this.#context.earlier;
    const earlier = given === undefined ? null : await EarlierOutputs.read(given, scratchFolder, signal);
    if (earlier !== null) this.#open.add(earlier);
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
    if (earlier !== null) this.#superseded = this.#keep(await earlier.superseded(signal));
  }

  async #countDone({ sourceCount, bytes }: PlannedOutput): Promise<void> {
    const { summary } = this;
    summary.doneOutputs += 1;
    summary.doneFiles += sourceCount;
    summary.doneBytes += bytes;
    if (summary.doneOutputs % TURN_RECORDS === 0) await this.#turn();
  }

  async #plan(): Promise<{ outputs: SortedRecords; members: SortedRecords | null }> {
    const { destinationScheme, manifestName, largestBytes, signal } = this.#context;
    const members = this.#options.groupBy === null ? null : await this.#sortMembers();
    const unnumbered = members === null ? await this.#sortSingles() : await this.#sortGroups(members);
    const { startingIndex } = this.#options;
    const outputs = startingIndex === null ? unnumbered : await this.#number(unnumbered, startingIndex);
    await checkOutputs({ outputs, members }, destinationScheme, { manifestName, largestBytes, signal });
    return { outputs, members };
  }

  async #sortMembers(): Promise<SortedRecords> {
    return this.#sort((sorter) =>
      this.#eachSource((source, groupKey) => sorter.add(memberKey(groupKey, source), sourceValue(source))),
    );
  }

  async #sortSingles(): Promise<SortedRecords> {
    const { outputCodec } = this.#options;
    return this.#sort((sorter) =>
      this.#eachSource((source) => {
        const name = outputCodec === null ? source.name : outputName(source.name, outputCodec);
        checkName(name, this.#context.destinationScheme, source);
        const codec = outputCodec === null ? null : codecOf(source.name);
        checkDecodable(source, codec, outputCodec);
        const recoding = recodingOf([codec], 1, outputCodec);
        sorter.add(this.#outputKey(name, source), encodeSingle(source, recoding));
      }),
    );
  }

  async #sortGroups(members: SortedRecords): Promise<SortedRecords> {
    return this.#sort(async (sorter) => {
      for (const { name, value, first } of groupSources(members, this.#options)) {
        checkName(name, this.#context.destinationScheme, first);
        sorter.add(this.#outputKey(name, first), value);
        if (sorter.count % TURN_RECORDS === 0) await this.#turn();
      }
    });
  }

  /** Outputs of the same name get different numbers, in the order of their sources. */
  #outputKey(name: string, first: SourceFile): string {
    return this.#options.startingIndex === null ? name : `${name}${SEPARATOR}${first.uri}`;
  }

  /** Numbers follow the order of the names without them. */
  async #number(unnumbered: SortedRecords, startingIndex: number): Promise<SortedRecords> {
    const numbered = await this.#sort(async (sorter) => {
      let previous = "";
      let number = startingIndex;
      for (const cursor = unnumbered.cursor(); cursor.advance();) {
        const { key, value } = cursor;
        if (key === previous) continue; // its source was listed twice
        previous = key;
        sorter.add(numberedName(key.slice(0, key.indexOf(SEPARATOR)), number), value);
        number += 1;
        if (sorter.count % TURN_RECORDS === 0) await this.#turn();
      }
    });
    unnumbered.close();
    this.#open.delete(unnumbered);
    return numbered;
  }

  /** Calls `take` for each file to copy, in path order if there is a previous manifest. */
  async #eachSource(take: (source: SourceFile, groupKey: string) => void): Promise<void> {
    const { previousManifest } = this.#context;
    if (previousManifest !== undefined) return this.#eachNew(previousManifest, take);
    for await (const page of this.#sources) {
      for (const source of page) {
        const groupKey = this.#select(source);
        if (groupKey !== null) take(source, groupKey);
      }
      await this.#turn();
    }
  }

  async #eachNew(
    entries: AsyncIterable<ManifestEntry>,
    take: (source: SourceFile, groupKey: string) => void,
  ): Promise<void> {
    const { scratchFolder, signal } = this.#context;
    const manifest = this.#keep(await sortManifest(entries, scratchFolder, signal));
    const byPath = await this.#sort(async (sorter) => {
      for await (const page of this.#sources) {
        for (const source of page)
          if (this.#select(source) !== null) sorter.add(sourceKey(source), sourceValue(source));
      }
    });
    this.#carried = await this.#sort((sorter) =>
      compareWithManifest(
        byPath,
        manifest,
        {
          onNew: (source) => take(source, this.#groupKey(source.uri) ?? ""),
          onSkipped: () => (this.summary.skippedFiles += 1),
          onCarried: (entry) => sorter.add(entry.baseName, JSON.stringify(entry)),
        },
        signal,
      ),
    );
    for (const file of [manifest, byPath]) {
      file.close();
      this.#open.delete(file);
    }
  }

  /** Null: the file is not copied. Otherwise the key of its group; empty if there are no groups. */
  #select(source: SourceFile): string | null {
    if (isFolderMarker(source)) return null;
    this.summary.listedFiles += 1;
    const groupKey = this.#groupKey(source.uri);
    if (groupKey === null) return null;
    this.summary.matchedFiles += 1;
    return groupKey;
  }

  #groupKey(found: string): string | null {
    if (this.#pattern === null) return "";
    const { srcScheme = null } = this.#context;
    const uri = srcScheme === null ? found : found.replace(/^[^:]*/, srcScheme);
    if (this.#options.groupBy === null) return this.#pattern.matches(uri) ? "" : null;
    const key = this.#pattern.groupKey(uri);
    return key === null || lastSegment(key) === "" ? null : key;
  }

  async #sort(fill: (sorter: RecordSorter) => Promise<void>): Promise<SortedRecords> {
    const sorter = new RecordSorter(this.#context.scratchFolder);
    try {
      await fill(sorter);
    } catch (error) {
      sorter.close();
      throw error;
    }
    return this.#keep(await sorter.finish(this.#context.signal));
  }

  #keep(sorted: SortedRecords): SortedRecords {
    this.#open.add(sorted);
    return sorted;
  }

  async #turn(): Promise<void> {
    this.#context.signal?.throwIfAborted();
    await nextTurn();
  }
}

/** Long loops let timers and connections run after this many records. */
const TURN_RECORDS = 2000;
