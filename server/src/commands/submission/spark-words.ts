import { checkArguments, checkCommandLine } from "../../engines/spark-submit/submit-rules.ts";
import { splitWords } from "../../lib/shell-words.ts";
import { fillMacros, type MacroValues } from "../macros.ts";
import { languageOf } from "./language.ts";
import { ARGUMENTS_BYTES } from "./text-limits.ts";

/** The command lines in a Spark command, split into words after macros were filled in. Pure. */
type SparkCommand = Readonly<Record<string, unknown>>;

/** Its `command` object. */
export function wordsIn(command: SparkCommand, field: string, values: MacroValues): string[] {
  const text = command[field];
  return typeof text === "string" ? splitWords(fillMacros(text, values, field, ARGUMENTS_BYTES), field) : [];
}

/** Where a command line as a whole comes from; undefined: the command is none. */
export function commandLineField(command: SparkCommand): string | undefined {
  if (languageOf(command) !== "command_line") return undefined;
  return ["cmdline", "program", "script_location"].find((field) => command[field]);
}

/**
 * Refuses what the driver's line could not be built of (`engines/spark-submit/submit-rules.ts`). `programText`: what runs,
 * with its macros filled in.
 */
export function checkSparkWords(command: SparkCommand, values: MacroValues, programText: string | null): void {
  checkArguments(wordsIn(command, "arguments", values), { field: "arguments" });
  wordsIn(command, "user_program_arguments", values); // its quotes must be balanced
  const field = commandLineField(command);
  if (field !== undefined) checkCommandLine(splitWords(programText ?? "", field), { field });
}
