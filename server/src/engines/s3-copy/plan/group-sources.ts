import { bytesPerMiB } from "../../../lib/size-text.ts";
import { codecOf, type KnownCodec } from "../codecs/codec-table.ts";
import type { CopyOptions } from "../options/copy-options.ts";
import { CopyError } from "../copy-error.ts";
import {
  checkDecodable,
  folderOf,
  isIndexedFormat,
  outputName,
  quoted,
  recodingOf,
  withoutLastSlashes,
} from "./output-names.ts";
import { decodeMember, encodeGroup, encodeSingle } from "./output-record.ts";
import type { SourceFile } from "./planned-output.ts";
import type { SortedRecords } from "../sorted-file/sorted-records.ts";

/** An output of a group, as it is put into the sorted outputs. */
export interface GroupedOutput {
  readonly name: string;
  readonly value: string;
  /** The first source, for messages. */
  readonly first: SourceFile;
}

/** Files that are concatenated: a whole group, or a part of it that has reached the target size. */
interface Part {
  readonly offset: number;
  readonly first: SourceFile;
  count: number;
  bytes: number;
  readonly codecs: Set<KnownCodec | null>;
  /** The first file that cannot be concatenated with others; null: none. */
  indexed: SourceFile | null;
}

type GroupRules = Pick<CopyOptions, "outputCodec" | "targetSizeMiB">;

/** `members` are sorted by the keys of their groups, then by path. */
export function* groupSources(members: SortedRecords, rules: GroupRules): Generator<GroupedOutput> {
  let group: Group | undefined;
  let previousKey = "";
  for (const cursor = members.cursor(); cursor.advance();) {
    const { key } = cursor;
    if (key === previousKey) continue; // listed twice
    previousKey = key;
    const { groupKey, source } = decodeMember(key, cursor.value);
    if (group?.key !== groupKey) {
      if (group !== undefined) yield* group.end();
      group = new Group(groupKey, source, rules);
    }
    yield* group.add(source, cursor.offset);
  }
  if (group !== undefined) yield* group.end();
}

class Group {
  readonly key: string;
  readonly #first: SourceFile;
  /** The codec of the first file. */
  readonly #codec: KnownCodec | null;
  readonly #rules: GroupRules;
  readonly #targetBytes: number;
  #part: Part | undefined;
  #partCount = 0;

  constructor(key: string, first: SourceFile, rules: GroupRules) {
    this.key = key;
    this.#first = first;
    this.#codec = codecOf(first.name);
    this.#rules = rules;
    this.#targetBytes = rules.targetSizeMiB === null ? Infinity : rules.targetSizeMiB * bytesPerMiB;
  }

  *add(source: SourceFile, offset: number): Generator<GroupedOutput> {
    const codec = codecOf(source.name);
    this.#checkCompression(source, codec);
    checkDecodable(source, codec, this.#rules.outputCodec);
    if (this.#part !== undefined && this.#part.bytes >= this.#targetBytes) yield this.#endPart(true);
    this.#part ??= { offset, first: source, count: 0, bytes: 0, codecs: new Set(), indexed: null };
    this.#part.count += 1;
    this.#part.bytes += source.size;
    this.#part.codecs.add(codec);
    if (isIndexedFormat(source.name)) this.#part.indexed ??= source;
  }

  *end(): Generator<GroupedOutput> {
    yield this.#endPart(this.#partCount > 0);
  }

  #endPart(isOneOfSeveral: boolean): GroupedOutput {
    const part = this.#part;
    if (part === undefined) throw new CopyError("a group of the plan is empty");
    if (part.indexed !== null && part.count > 1) {
      throw new CopyError(
        `${quoted(part.indexed.uri)} cannot be concatenated with other files: Parquet and ORC files have an index at ` +
          "their end. Exclude them from --groupBy.",
      );
    }
    const { outputCodec } = this.#rules;
    const recoding = recodingOf(part.codecs, part.count, outputCodec);
    const number = isOneOfSeveral ? String(this.#partCount) : "";
    this.#part = undefined;
    this.#partCount += 1;
    return {
      name: folderOf(this.#first.name) + outputName(lastSegment(this.key), outputCodec, number),
      value: part.count === 1 ? encodeSingle(part.first, recoding) : encodeGroup(part, recoding),
      first: part.first,
    };
  }

  #checkCompression({ uri }: SourceFile, codec: KnownCodec | null): void {
    if (this.#rules.outputCodec !== null || codec === this.#codec) return;
    throw new CopyError(
      `${quoted(this.#first.uri)} and ${quoted(uri)} are in one group but compressed differently: add --outputCodec, ` +
        "or change --groupBy.",
    );
  }
}

/** The last segment of a group's key that is not empty; empty if there is none. */
export function lastSegment(groupKey: string): string {
  const path = withoutLastSlashes(groupKey);
  return path.slice(path.lastIndexOf("/") + 1);
}
