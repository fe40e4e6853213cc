import { CopyError } from "../copy-error.ts";
import type { Journal } from "../journal.ts";
import type { OriginalFile, PlannedOutput, SourceFile } from "../plan/planned-output.ts";
import type { FoundFile, SourceReader, Storage } from "../storage/storage.ts";

/** An output, and the storage that its sources are read from. */
export interface AppendedOutput {
  readonly output: PlannedOutput;
  readonly from: SourceReader;
}

export interface AppendParts {
  readonly from: SourceReader;
  readonly to: Pick<Storage, "find" | "read">;
  readonly journal: Pick<Journal, "noteOriginal">;
}

const NO_FILE: OriginalFile = { size: 0, modifiedMs: 0 };

/**
 * `--appendToLastFile`: the output begins with the contents of the existing file. The new file replaces the old one when it
 * is complete, so that a crash leaves one of them. The journal records the size and time of the old one, so that an attempt
 * that repeats the output appends once, whichever of them it finds.
 */
export async function appendOutput(
  output: PlannedOutput,
  uri: string,
  { from, to, journal }: AppendParts,
): Promise<AppendedOutput> {
  const found = await to.find(uri);
  const original = output.original ?? found ?? NO_FILE;
  if (output.original === undefined) await journal.noteOriginal(output.name, original);
  if (original.size === 0) return { output, from };
  const existing: SourceFile = { ...checkFound(found, original, { output, uri }), uri, name: output.name };
  const beginning: SourceFile = { ...existing, size: original.size };
  return {
    output: {
      name: output.name,
      bytes: beginning.size + output.bytes,
      sourceCount: output.sourceCount + 1,
      single: null,
      recoding: output.recoding,
      async *sources() {
        yield beginning;
        yield* output.sources();
      },
    },
    from: { read: (source, range) => (source === beginning ? to.read(existing, range) : from.read(source, range)) },
  };
}

/** Without another compression, the new file begins with the bytes of the old one. */
function checkFound(
  found: FoundFile | undefined,
  original: OriginalFile,
  { output, uri }: { output: PlannedOutput; uri: string },
): FoundFile {
  if (found?.size === original.size && found.modifiedMs === original.modifiedMs) return found;
  if (found === undefined || found.size < original.size) {
    throw new CopyError(`${uri}: cannot be appended to, because the file was replaced after the first attempt`);
  }
  if (output.recoding === null) return found;
  throw new CopyError(
    `${uri}: an earlier attempt may have appended to this file already, and its compression hides where; restore the ` +
      "file, then submit the command again",
  );
}
