import { invalid } from "../../lib/fault.ts";

/** §4.3. The names are case-sensitive; `py` is the same as `python`. */
export type Language = "scala" | "python" | "sql" | "R" | "command_line";

const LANGUAGES: ReadonlyMap<string, Language> = new Map([
  ["scala", "scala"],
  ["python", "python"],
  ["py", "python"],
  ["sql", "sql"],
  ["R", "R"],
  ["command_line", "command_line"],
]);

const EXTENSIONS: ReadonlyMap<string, Language> = new Map([
  ["py", "python"],
  ["scala", "scala"],
  ["R", "R"],
  ["sql", "sql"],
  ["cmdline", "command_line"],
  ["command_line", "command_line"],
]);

export function parseLanguage(text: string): Language {
  const language = LANGUAGES.get(text);
  if (language === undefined) throw invalid("language", `must be one of ${[...LANGUAGES.keys()].join(", ")}`);
  return language;
}

export function languageOfScript(uri: string): Language {
  const [, extension = ""] = /\.([A-Za-z_]+)$/.exec(uri) ?? [];
  const language = EXTENSIONS.get(extension);
  if (language !== undefined) return language;
  throw invalid("language", `is required: script_location ends in none of .${[...EXTENSIONS.keys()].join(" .")}`);
}

/** The language of a Spark command, by its `command` object. */
export function languageOf(command: Readonly<Record<string, unknown>>): Language {
  if (typeof command["language"] === "string") return parseLanguage(command["language"]);
  if (typeof command["script_location"] === "string") return languageOfScript(command["script_location"]);
  return typeof command["sql"] === "string" ? "sql" : "command_line";
}
