import type { ManifestEntry } from "../manifest/manifest-entry.ts";
import type { SortedRecords } from "../sorted-file/sorted-records.ts";
import type { PlanContext, PlanSummary } from "./plan-context.ts";
import type { PlanFiles } from "./plan-files.ts";
import type { SourceFile } from "./planned-output.ts";
import { compareWithManifest, readEntries, sortManifest } from "./previous-manifest.ts";
import type { SourceSelection } from "./source-selection.ts";
import { sourceKey, sourceValue } from "./source-record.ts";

type TakeSource = (source: SourceFile, groupKey: string) => void;

export interface NewSourcesOptions {
  /** Pages in no particular order. */
  readonly sources: AsyncIterable<readonly SourceFile[]>;
  readonly context: Pick<PlanContext, "scratchFolder" | "previousManifest" | "signal">;
  readonly selection: SourceSelection;
  readonly files: PlanFiles;
  readonly summary: PlanSummary;
}

/** The selected files that the previous manifest does not list. */
export class NewSources {
  readonly #options: NewSourcesOptions;
  #carried: SortedRecords | null = null;

  constructor(options: NewSourcesOptions) {
    this.#options = options;
  }

  /** Calls `take` for each file to copy, in path order if there is a previous manifest. */
  async each(take: TakeSource): Promise<void> {
    const { sources, context, selection, files } = this.#options;
    if (context.previousManifest !== undefined) return this.#compare(context.previousManifest, take);
    for await (const page of sources) {
      for (const source of page) {
        const groupKey = selection.select(source);
        if (groupKey !== null) take(source, groupKey);
      }
      await files.turn();
    }
  }

  /** Entries of the previous manifest whose files are not copied again; complete after `each`. */
  *carriedOver(): Generator<ManifestEntry> {
    if (this.#carried !== null) yield* readEntries(this.#carried);
  }

  async #compare(entries: AsyncIterable<ManifestEntry>, take: TakeSource): Promise<void> {
    const { sources, context, selection, files, summary } = this.#options;
    const { scratchFolder, signal } = context;
    const manifest = files.keep(await sortManifest(entries, scratchFolder, signal));
    const byPath = await files.sort(async (sorter) => {
      for await (const page of sources) {
        for (const source of page)
          if (selection.select(source) !== null) sorter.add(sourceKey(source), sourceValue(source));
      }
    });
    this.#carried = await files.sort((sorter) =>
      compareWithManifest(
        byPath,
        manifest,
        {
          onNew: (source) => take(source, selection.groupKey(source.uri) ?? ""),
          onSkipped: () => (summary.skippedFiles += 1),
          onCarried: (entry) => sorter.add(entry.baseName, JSON.stringify(entry)),
        },
        signal,
      ),
    );
    files.release(manifest, byPath);
  }
}
