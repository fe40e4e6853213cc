import { join } from "node:path";
import type { RSupport } from "../../engines/spark-home/find-r.ts";
import {
  statedMemoryMiB,
  type DriverProgram,
  type SourceProgram,
} from "../../engines/spark-submit/driver-command-line.ts";
import { parseMemoryMiB } from "../../engines/spark-submit/memory-size.ts";
import { Fault } from "../../lib/fault.ts";
import { splitWords } from "../../lib/shell-words.ts";
import { macroValues } from "../submission/macros.ts";
import { languageOf } from "../submission/language.ts";
import { commandLineField, wordsIn } from "../submission/spark.ts";
import type { RunnableCommand } from "../store/command-row.ts";

/** The program of a Spark command, and the files that hold its text, by name. */
export interface SparkProgram {
  readonly program: DriverProgram;
  readonly files: Readonly<Record<string, string>>;
}

/** `input`: the folder of its file. Throws if the node lacks what the program needs. */
export async function sparkProgram(
  command: RunnableCommand,
  text: string,
  input: string,
  findR: () => Promise<RSupport>,
): Promise<SparkProgram> {
  const inFile = (kind: SourceProgram["kind"], name: string): SparkProgram => ({
    program: {
      kind,
      file: join(input, name),
      arguments: wordsOf(command, "arguments"),
      programArguments: wordsOf(command, "user_program_arguments"),
    },
    files: { [name]: text },
  });
  switch (languageOf(command.command)) {
    case "command_line": {
      const field = commandLineField(command.command) ?? "cmdline";
      return { program: { kind: "command_line", field, words: splitWords(text, field) }, files: {} };
    }
    case "python":
      return inFile("python", "program.py");
    case "scala":
      return inFile("scala", "program.scala");
    case "R": {
      const found = await findR();
      if (found.kind === "missing") throw new Fault("invalid", found.reason);
      return inFile(found.kind === "sparkr" ? "R" : "R-by-python", "program.R");
    }
    case "sql":
      throw new Fault("internal", "SQL does not run as a program");
  }
}

/**
 * An earlier version may have accepted an invalid command. It counts with the default memory here, and fails with a reason
 * when it is started. The text of a script is not read.
 */
export function heapOf(command: RunnableCommand, defaultMiB: number): number {
  return statedHeap(command, null) ?? configuredHeapMiB(command) ?? defaultMiB;
}

/** The heap that the options of the command ask for; undefined: none. `text`: the script of a command line, if known. */
export function statedHeap(command: RunnableCommand, text: string | null): number | undefined {
  try {
    if (languageOf(command.command) !== "command_line") {
      const words = { arguments: wordsOf(command, "arguments"), programArguments: [] };
      return statedMemoryMiB({ kind: "python", file: "", ...words });
    }
    const words =
      text === null ? [...wordsOf(command, "cmdline"), ...wordsOf(command, "program")] : splitWords(text, "script");
    return words.length === 0 ? undefined : statedMemoryMiB({ kind: "command_line", field: "", words });
  } catch {
    return undefined;
  }
}

function configuredHeapMiB({ configuredHeap = null }: RunnableCommand): number | undefined {
  try {
    return configuredHeap === null ? undefined : parseMemoryMiB(configuredHeap, "spark.driver.memory");
  } catch {
    return undefined;
  }
}

function wordsOf({ command, resolvedMacros }: RunnableCommand, field: string): string[] {
  return wordsIn(command, field, macroValues(resolvedMacros));
}
