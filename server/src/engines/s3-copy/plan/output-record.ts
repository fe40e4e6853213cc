import type { Codec } from "../codecs/codec-table.ts";
import { CopyError } from "../copy-error.ts";
import type { PlannedOutput, Recoding, SourceFile } from "./planned-output.ts";
import type { SortedRecords } from "../sorted-file/sorted-records.ts";
import { decodeSource, SEPARATOR, sourceKey, sourceValue } from "./source-record.ts";

/*
 * The value of an output's record; its key is the name. The first character is the recoding, the second the kind.
 *
 *   ?1 name \0 base \0 size time class etag     one source
 *   ?# offset count bytes                       several, from this position of the sorted sources
 */
const recodings: readonly (readonly [string, Recoding | null])[] = [
  ["=", null],
  ["-", { to: null }],
  ...(["gzip", "lzo", "snappy"] as const).map((to: Codec): [string, Recoding] => [to.charAt(0), { to }]),
];
const recodingByLetter = new Map(recodings);

function letterOf(recoding: Recoding | null): string {
  if (recoding === null) return "=";
  return recoding.to === null ? "-" : recoding.to.charAt(0);
}

export function encodeSingle(source: SourceFile, recoding: Recoding | null): string {
  return `${letterOf(recoding)}1${sourceKey(source)}${SEPARATOR}${sourceValue(source)}`;
}

export function encodeGroup(part: { offset: number; count: number; bytes: number }, recoding: Recoding | null): string {
  return `${letterOf(recoding)}#${part.offset} ${part.count} ${part.bytes}`;
}

/** `members`: the sorted sources of groups. */
export function decodeOutput(name: string, value: string, members: SortedRecords | null): PlannedOutput {
  const recoding = recodingByLetter.get(value.charAt(0)) ?? null;
  if (value.charAt(1) === "1") {
    const end = value.lastIndexOf(SEPARATOR);
    return new SingleOutput(name, decodeSource(value.slice(2, end), value.slice(end + 1)), recoding);
  }
  const [offset = 0, count = 0, bytes = 0] = value.slice(2).split(" ").map(Number);
  if (members === null) throw new CopyError("a group of the plan has no members");
  return new GroupOutput({ name, offset, bytes, recoding, sourceCount: count }, members);
}

export class SingleOutput implements PlannedOutput {
  readonly name: string;
  readonly single: SourceFile;
  readonly recoding: Recoding | null;
  readonly sourceCount = 1;

  constructor(name: string, source: SourceFile, recoding: Recoding | null) {
    this.name = name;
    this.single = source;
    this.recoding = recoding;
  }

  get bytes(): number {
    return this.single.size;
  }

  async *sources(): AsyncGenerator<SourceFile> {
    yield this.single;
  }
}

class GroupOutput implements PlannedOutput {
  readonly name: string;
  readonly bytes: number;
  readonly sourceCount: number;
  readonly recoding: Recoding | null;
  readonly single = null;
  readonly #offset: number;
  readonly #members: SortedRecords;

  constructor(
    part: Pick<PlannedOutput, "name" | "bytes" | "sourceCount" | "recoding"> & { offset: number },
    members: SortedRecords,
  ) {
    this.name = part.name;
    this.bytes = part.bytes;
    this.sourceCount = part.sourceCount;
    this.recoding = part.recoding;
    this.#offset = part.offset;
    this.#members = members;
  }

  async *sources(): AsyncGenerator<SourceFile> {
    const cursor = this.#members.cursor(this.#offset);
    let previous = "";
    for (let left = this.sourceCount; left > 0 && cursor.advance();) {
      const { key } = cursor;
      if (key === previous) continue; // listed twice
      previous = key;
      left -= 1;
      yield decodeMember(key, cursor.value).source;
    }
  }
}

/** The key of a member: the group's key, then the source's. */
export function memberKey(groupKey: string, source: SourceFile): string {
  return `${groupKey}${SEPARATOR}${sourceKey(source)}`;
}

export function decodeMember(key: string, value: string): { groupKey: string; source: SourceFile } {
  const end = key.indexOf(SEPARATOR);
  return { groupKey: key.slice(0, end), source: decodeSource(key.slice(end + 1), value) };
}
