import { compileGroupPattern, compilePathPattern, type PathPattern } from "../pattern/path-pattern.ts";
import { lastSegment } from "./group-sources.ts";
import type { PlanContext, PlanOptions, PlanSummary } from "./plan-context.ts";
import type { SourceFile } from "./planned-output.ts";
import { isFolderMarker } from "./source-record.ts";

/** Selects files by `srcPattern` or `groupBy`, and counts them. */
export class SourceSelection {
  readonly #pattern: PathPattern | null;
  readonly #isGrouped: boolean;
  readonly #srcScheme: string | null;
  readonly #summary: PlanSummary;

  /** Throws a `CopyArgumentError` if a pattern is wrong. */
  constructor(
    { srcPattern, groupBy }: PlanOptions,
    { srcScheme = null }: Pick<PlanContext, "srcScheme">,
    summary: PlanSummary,
  ) {
    if (groupBy !== null) this.#pattern = compileGroupPattern("--groupBy", groupBy);
    else this.#pattern = srcPattern === null ? null : compilePathPattern("--srcPattern", srcPattern);
    this.#isGrouped = groupBy !== null;
    this.#srcScheme = srcScheme;
    this.#summary = summary;
  }

  /** Null: the file is not copied. Otherwise the key of its group; empty if there are no groups. */
  select(source: SourceFile): string | null {
    if (isFolderMarker(source)) return null;
    this.#summary.listedFiles += 1;
    const groupKey = this.groupKey(source.uri);
    if (groupKey === null) return null;
    this.#summary.matchedFiles += 1;
    return groupKey;
  }

  /** As `select` returns it, without counting. */
  groupKey(found: string): string | null {
    if (this.#pattern === null) return "";
    const uri = this.#srcScheme === null ? found : found.replace(/^[^:]*/, this.#srcScheme);
    if (!this.#isGrouped) return this.#pattern.matches(uri) ? "" : null;
    const key = this.#pattern.groupKey(uri);
    return key === null || lastSegment(key) === "" ? null : key;
  }
}
