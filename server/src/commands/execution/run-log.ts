import { appendFile, mkdir, stat } from "node:fs/promises";
import type { AttemptFiles } from "./command-files.ts";
import { lastWordsMissing } from "./last-words.ts";
import { isDiskFullError } from "../../engines/runner/disk-full.ts";
import { Fault } from "../../lib/fault.ts";
import type { Settlement } from "../store/queue.ts";
import type { RunOutcome } from "./executor.ts";

/** Writes the first lines of the log; the runner appends the program's output. */
export async function writeNotes({ log }: AttemptFiles, notes: readonly string[] = []): Promise<void> {
  if (notes.length > 0) await appendFile(log, notes.map((note) => `headgate: ${note}\n`).join(""), { mode: 0o600 });
}

/** The log of a command says why it did not succeed, also where nothing of it ran. Best effort: the row says it too. */
export async function writeToLog(
  files: AttemptFiles,
  { cause, next }: Pick<Settlement, "cause" | "next">,
): Promise<void> {
  if (cause === null) return;
  const retry = next.status === "retry" ? `; the next attempt follows in ${next.delaySeconds} seconds` : "";
  try {
    await mkdir(files.folder, { recursive: true, mode: 0o711 });
    await appendFile(files.log, await lastWordsMissing(files.log, cause, retry), { mode: 0o600 });
  } catch {
    // A full disk is the most likely reason to be here: whoever reads the log gets it from the row.
  }
}

export async function sizeOf(path: string): Promise<number> {
  return stat(path).then(
    ({ size }) => size,
    () => 0,
  );
}

/** What kept a run from starting, for the person who submitted it. */
export function explainFailure(error: unknown): RunOutcome {
  const code = error instanceof Error && "code" in error ? String(error.code) : "";
  const kind = error instanceof Fault && error.code === "invalid" ? "refused" : "failed";
  const cause = CAUSES[code] ?? (error instanceof Fault ? error.publicMessage : "it could not be started");
  return isDiskFullError(error) ? notStartedForDisk : { ...notStarted, kind, cause };
}

const notStarted = { state: "ended", exitCode: null, outputBytes: 0, logBytes: 0 } as const;

export const notStartedForDisk: RunOutcome = {
  ...notStarted,
  kind: "disk-full",
  cause: "the disk is full: it could not be started",
};

const CAUSES: Readonly<Record<string, string | undefined>> = {
  ENOMEM: "the machine is out of memory",
  EAGAIN: "the machine has no room for another process",
};
