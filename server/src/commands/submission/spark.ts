import { invalid, type Fault } from "../../lib/fault.ts";
import { shownValue } from "../../lib/shown-value.ts";
import type { SubmissionInput } from "./body.ts";
import { languageOfScript, parseLanguage, type Language, languageOf } from "./language.ts";
import { EMPTY_PLAN, type Source, type SubmissionPlan, ARGUMENTS_BYTES } from "./plan.ts";
import { checkArguments, checkCommandLine } from "../../engines/spark-submit/submit-rules.ts";
import { splitWords } from "../../lib/shell-words.ts";
import { fillMacros, type MacroValues } from "./macros.ts";

/** §4.3. An empty text counts as not given. */
const SOURCES = ["program", "cmdline", "sql", "script_location", "note_id"] as const;
/** Clients always send retry, retry_delay and pool, so these are allowed with `cmdline` (an override of §4.3). */
const NOT_WITH_CMDLINE = ["arguments", "user_program_arguments", "app_id"] as const;

/** Whether the submission of a Spark command is one in SQL. Invalid ones are not: their plan says what is wrong. */
export function isSparkSql({ language, sql, script_location: uri }: SubmissionInput): boolean {
  if (language) return language === "sql";
  return Boolean(sql) || (uri ?? "").endsWith(".sql");
}

export function planSpark(body: SubmissionInput): SubmissionPlan {
  const source = sourceOf(body);
  if (body.cmdline) {
    const other = NOT_WITH_CMDLINE.find((field) => body[field]);
    if (other !== undefined) throw invalid(other, "must not be used with cmdline");
  }
  const { retry = null, retry_delay = null } = body;
  return {
    ...EMPTY_PLAN,
    commandType: "SparkCommand",
    template: body.template || "generic",
    command: {
      program: body.program ?? null,
      sql: body.sql || null,
      cmdline: body.cmdline ?? null,
      script_location: body.script_location || null,
      language: body.language || null,
      arguments: body.arguments ?? null,
      user_program_arguments: body.user_program_arguments ?? null,
      app_id: body.app_id || null,
      note_id: null,
      retry,
      retry_delay,
    },
    source,
    appId: body.app_id ? parseAppId(body.app_id) : null,
    macroTexts: { arguments: body.arguments ?? "", user_program_arguments: body.user_program_arguments ?? "" },
    retry: retry ?? 0,
    retryDelayMinutes: retry_delay ?? 0,
  };
}

/** The insert of the command checks whether the account has the app. */
function parseAppId(text: string): number {
  const id = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!Number.isSafeInteger(id)) throw unknownApp(text);
  return id;
}

export function unknownApp(id: string | number): Fault {
  return invalid("app_id", `names no app of the account: ${shownValue(id)}`);
}

function sourceOf(body: SubmissionInput): Source {
  const given = SOURCES.filter((field) => body[field]);
  const [field] = given;
  if (field === undefined || given.length > 1) {
    const rule = "exactly one of program, cmdline, sql and script_location must be given";
    if (field === undefined) throw invalid("program", `is required: ${rule}`);
    throw invalid(field, `must not be used with ${given[1]}: ${rule}`);
  }
  const language = body.language ? parseLanguage(body.language) : undefined;
  const text = body[field] ?? "";
  switch (field) {
    case "program":
      if (language === undefined) throw invalid("language", "is required with program");
      return { kind: "inline", field, text, language };
    case "sql":
      return { kind: "inline", field, text, language: only("sql", language, field) };
    case "cmdline":
      return { kind: "inline", field, text, language: only("command_line", language, field) };
    case "script_location":
      return { kind: "script", uri: text, language: language ?? languageOfScript(text) };
    case "note_id":
      throw invalid("note_id", "cannot be used: this version does not run notebooks. Submit their text as program");
  }
}

function only(expected: Language, given: Language | undefined, field: string): Language {
  if (given !== undefined && given !== expected) throw invalid("language", `must be ${expected} with ${field}`);
  return expected;
}

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
