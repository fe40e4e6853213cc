/**
 * A file has one language, that of its kernel. A cell in another language starts with a line that names it, such as
 * `%%sql`: the convention of the Spark kernels for Jupyter.
 */
import { isRecord } from "../../lib/is-record.ts";
import { CODE_LANGUAGES, type CodeLanguage, type Language, type Paragraph } from "../paragraphs.ts";
import type { CellType } from "./stored-notebook.ts";

const SPELLINGS: Readonly<Record<string, CodeLanguage>> = {
  python: "python",
  ipython: "python",
  pyspark: "python",
  scala: "scala",
  spark: "scala",
  r: "r",
  sparkr: "r",
  sql: "sql",
};

const DEFAULT_LANGUAGE = "python" satisfies CodeLanguage;

/** Undefined: the file names a language that notebooks cannot have. A file that names none is in Python. */
export function kernelLanguage(metadata: Readonly<Record<string, unknown>>): CodeLanguage | undefined {
  const named = [nameIn(metadata.kernelspec, "language"), nameIn(metadata.language_info, "name")].filter(
    (name) => name !== "",
  );
  if (named.length === 0) return DEFAULT_LANGUAGE;
  const known = named.find((name) => Object.hasOwn(SPELLINGS, name));
  return known === undefined ? undefined : SPELLINGS[known];
}

function nameIn(part: unknown, key: string): string {
  const name = isRecord(part) ? part[key] : undefined;
  return typeof name === "string" ? name.toLowerCase() : "";
}

/** The kernel and the metadata for the export of a notebook that was not imported. */
export function newMetadata(paragraphs: readonly Paragraph[]): { kernel: CodeLanguage; metadata: object } {
  const [used = DEFAULT_LANGUAGE] = paragraphs.flatMap(
    (paragraph) => KERNEL_LANGUAGES.find((each) => each === paragraph.language) ?? [],
  );
  const { displayName, name, language } = KERNELS[used];
  return {
    kernel: used,
    metadata: { kernelspec: { display_name: displayName, language, name }, language_info: { name: language } },
  };
}

/** Without SQL, which has no common Jupyter kernel: SQL cells are exported with a line `%%sql`. */
const KERNEL_LANGUAGES = ["python", "scala", "r"] as const;
const KERNELS: Record<(typeof KERNEL_LANGUAGES)[number], { displayName: string; name: string; language: string }> = {
  python: { displayName: "Python 3", name: "python3", language: "python" },
  scala: { displayName: "Scala", name: "scala", language: "scala" },
  r: { displayName: "R", name: "ir", language: "R" },
};

export function cellTypeOf(language: Language): CellType {
  return language === "markdown" || language === "raw" ? language : "code";
}

function isCode(language: Language): language is CodeLanguage {
  return cellTypeOf(language) === "code";
}

const NAMING_LINE = new RegExp(`^%%(${CODE_LANGUAGES.join("|")})\n`);

export function paragraphOf(type: CellType, source: string, kernel: CodeLanguage): Paragraph {
  if (type !== "code") return { language: type, text: source };
  const line = NAMING_LINE.exec(source);
  const named = CODE_LANGUAGES.find((language) => language === line?.[1]);
  // In a Python file, the kernel itself handles `%%python`, so the line stays in the text.
  if (line === null || named === undefined || named === kernel) return { language: kernel, text: source };
  return { language: named, text: source.slice(line[0].length) };
}

/** The reverse of `paragraphOf`. */
export function sourceOf({ language, text }: Paragraph, kernel: CodeLanguage): string {
  return isCode(language) && language !== kernel ? `%%${language}\n${text}` : text;
}
