import { checkArguments, checkCommandLine } from "../../engines/spark-submit/submit-rules.ts";
import { splitWords } from "../../lib/shell-words.ts";
import { fillMacros, type MacroValues } from "./macros.ts";
import { languageOf } from "./language.ts";
import { ARGUMENTS_BYTES } from "./text-limits.ts";

/** The `command` object of a Spark command. Its command lines are split into words after macros are filled in. Pure. */
type SparkCommand = Readonly<Record<string, unknown>>;

export function wordsIn(command: SparkCommand, field: string, values: MacroValues): string[] {
  const text = command[field];
  return typeof text === "string" ? splitWords(fillMacros(text, values, field, ARGUMENTS_BYTES), field) : [];
}

/** The field that holds the whole command line; undefined: the command is not a command line. */
export function commandLineField(command: SparkCommand): string | undefined {
  if (languageOf(command) !== "command_line") return undefined;
  return ["cmdline", "program", "script_location"].find((field) => command[field]);
}

/**
 * Refuses words from which the driver's command line could not be built (`engines/spark-submit/submit-rules.ts`).
 * `programText`: the text that runs, with its macros filled in.
 */
export function checkSparkWords(command: SparkCommand, values: MacroValues, programText: string | null): void {
  checkArguments(wordsIn(command, "arguments", values), { field: "arguments" });
  wordsIn(command, "user_program_arguments", values); // refuses unbalanced quotes
  const field = commandLineField(command);
  if (field !== undefined) checkCommandLine(splitWords(programText ?? "", field), { field });
}
