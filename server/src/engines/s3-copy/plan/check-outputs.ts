import { setImmediate as nextTurn } from "node:timers/promises";
import { CopyError } from "../copy-error.ts";
import { quoted, type DestinationScheme } from "./output-names.ts";
import { decodeOutput } from "./output-record.ts";
import type { PlannedOutput, SourceFile } from "./planned-output.ts";
import type { SortedRecords } from "../sorted-file/sorted-records.ts";

const TURN_RECORDS = 2000;
const GIB = 1024 ** 3;

export interface OutputRules {
  /** Null: no manifest is written. */
  readonly manifestName?: string | null | undefined;
  /** Null: any size is possible. */
  readonly largestBytes?: number | null | undefined;
  readonly signal?: AbortSignal | undefined;
}

/**
 * Throws if an output has the name of the manifest or is too large, if two outputs have the same name, or if an output would
 * also be a folder at a destination that has real folders. An output whose only source was listed twice is allowed: readers
 * of the plan skip the repetition.
 */
export async function checkOutputs(
  plan: SortedPlan,
  scheme: DestinationScheme,
  { manifestName, largestBytes = null, signal }: OutputRules = {},
): Promise<void> {
  /** Earlier names that are prefixes of the current one. Names with a common prefix follow each other. */
  const beginnings: NamedOutput[] = [];
  let read = 0;
  for (const cursor = plan.outputs.cursor(); cursor.advance(); read += 1) {
    const { key: name } = cursor;
    if (name === manifestName) throw manifestClash(name);
    if (largestBytes !== null) checkSize(decodeOutput(name, cursor.value, plan.members), largestBytes);
    while (beginnings.length > 0 && !name.startsWith(beginnings.at(-1)?.name ?? "")) beginnings.pop();
    const previous = beginnings.at(-1);
    if (previous?.name === name) {
      await refuse(previous, { name, offset: cursor.offset }, plan, `would both become ${quoted(name)}`);
      continue; // its source was listed twice
    }
    const folder = scheme === "s3" ? undefined : beginnings.find((file) => name.startsWith(`${file.name}/`));
    if (folder !== undefined) {
      const problem = `cannot both be copied: ${quoted(folder.name)} would be a file and a folder`;
      await refuse(folder, { name, offset: cursor.offset }, plan, problem);
    }
    beginnings.push({ name, offset: cursor.offset });
    if (read % TURN_RECORDS !== 0) continue;
    signal?.throwIfAborted();
    await nextTurn();
  }
}

export function manifestClash(name: string): CopyError {
  return new CopyError(`${name}: the manifest would replace this file; name another --outputManifest`);
}

/** The size of an output whose compression changes is known only when it is written. */
export function checkSize({ name, bytes, recoding }: PlannedOutput, largestBytes: number | null): void {
  if (largestBytes === null || recoding !== null || bytes <= largestBytes) return;
  throw new CopyError(
    `${quoted(name)} would be larger than ${largestBytes / GIB} GiB, the most that S3 accepts in one request: ` +
      "remove --disableMultipartUpload.",
  );
}

interface NamedOutput {
  readonly name: string;
  /** The position of its record. */
  readonly offset: number;
}

export interface SortedPlan {
  readonly outputs: SortedRecords;
  readonly members: SortedRecords | null;
}

/** Does nothing if both are the same file, which may have changed between two listings. */
async function refuse(one: NamedOutput, two: NamedOutput, plan: SortedPlan, problem: string): Promise<void> {
  const [first, second] = [await firstSource(one, plan), await firstSource(two, plan)];
  if (first?.uri === second?.uri) return;
  throw new CopyError(`${quoted(first?.uri ?? "")} and ${quoted(second?.uri ?? "")} ${problem}.`);
}

async function firstSource(
  { name, offset }: NamedOutput,
  { outputs, members }: SortedPlan,
): Promise<SourceFile | undefined> {
  const cursor = outputs.cursor(offset);
  if (!cursor.advance()) return undefined;
  for await (const source of decodeOutput(name, cursor.value, members).sources()) return source;
  return undefined;
}
