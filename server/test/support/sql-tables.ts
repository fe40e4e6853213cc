/**
 * Finds the tables that SQL of the source reads and writes. The name of a table stands after one of the keywords below,
 * or after a comma in a list of tables. It reports anything that it does not understand as `unclear`.
 */
export interface TableUse {
  /** Contains `{expression}` if the name, or a part of it, is interpolated. */
  readonly table: string;
  readonly use: "reads" | "writes" | "unclear";
}

const STATEMENT =
  /\b(?:select|(?:insert|merge)\s+into|delete\s+from|update\s+\S+(?:\s+(?:as\s+)?\w+)?\s+set|join|truncate|(?:lock|create|alter|drop)\s+table)\b/i;
/** A part of a statement; a sentence would begin with a capital letter. */
const PART = /^\s*(?:from|using|copy|update)\b/;
const TOKEN = /(?<!\w)[eE]?'(?:[^']|'')*(?:'|$)|--[^\n]*|"[^"]*"|(?:\w|\{[^}]*\})+|\S/g;

/** The part of a statement inside one pair of parentheses. */
interface Level {
  /** How the name that follows is used. */
  expected: "reads" | "writes" | undefined;
  /** Whether a name follows each comma. */
  isList: boolean;
}

const OTHER: Level = { expected: undefined, isList: false };
const LIST: Level = { expected: "reads", isList: true };
const WRITTEN: Level = { expected: "writes", isList: false };

/** The keywords before a name, by the words before and after them. Undefined: here it is not such a keyword. */
const KEYWORDS = new Map<string, (before: string, after: string) => Level | undefined>([
  ["from", (before) => (before === "delete" ? WRITTEN : before === "distinct" ? undefined : LIST)],
  ["join", () => LIST],
  ["using", (_, after) => (after === "(" ? undefined : LIST)],
  ["into", (before) => (before === "insert" || before === "merge" ? WRITTEN : undefined)],
  ["update", (before) => (["for", "key", "do"].includes(before) ? undefined : WRITTEN)],
  ["table", (before) => (["lock", "create", "alter", "drop"].includes(before) ? WRITTEN : undefined)],
  ["truncate", () => WRITTEN],
  ["copy", (before) => (before === "" ? WRITTEN : undefined)],
  ..."where group order having limit offset union except intersect returning set values select for"
    .split(" ")
    .map((word) => [word, () => OTHER] as const),
  ["with", (_, after) => (after === "ordinality" ? undefined : OTHER)],
]);
/** Words between a keyword and the name. */
const SKIPPED = new Set(["only", "lateral", "if", "not", "exists", "table", "public", "."]);

/** `known` has all tables, and the views and functions that read some. */
export function tablesIn(text: string, known: ReadonlySet<string>): TableUse[] {
  if (!PART.test(text) && !STATEMENT.test(text.replaceAll(/\{[^}]*\}/g, "{}"))) return [];
  const found: TableUse[] = [];
  const tokens = (text.match(TOKEN) ?? []).filter((token) => !token.startsWith("--"));
  let level = { ...OTHER };
  const outer: Level[] = [];
  for (const [at, token] of tokens.entries()) {
    const word = token.toLowerCase();
    const name = token.startsWith('"') ? token.slice(1, -1) : word;
    const before = tokens[at - 1]?.toLowerCase() ?? "";
    const after = tokens[at + 1] ?? "";
    const { expected } = level;
    const keyword = KEYWORDS.get(word)?.(before, after);
    if (word === "(") {
      level.expected = undefined;
      outer.push(level);
      level = expected === "reads" ? { ...LIST } : { ...OTHER };
    } else if (word === ")") {
      level = outer.pop() ?? { ...OTHER };
    } else if (word === ",") {
      level.expected = level.isList ? "reads" : undefined;
    } else if (keyword !== undefined) {
      level = { ...keyword };
    } else if (/^e?'/.test(word)) {
      if (tokens[at - 2]?.toLowerCase() === "to_regclass") found.push({ table: token.slice(1, -1), use: "reads" });
      if (!/'.*'$/s.test(token)) found.push({ table: token, use: "unclear" });
    } else if (expected !== undefined && !SKIPPED.has(word)) {
      level.expected = undefined;
      // An expression in parentheses is a subquery, whose text is read on its own.
      const isValue = token.includes("{");
      if (known.has(name) || (isValue && before !== "("))
        found.push({ table: isValue ? token.replaceAll('"', "") : name, use: expected });
    } else if (known.has(name) && after === "(") {
      found.push({ table: name, use: "reads" });
    } else if (known.has(name) && name.includes("_") && before !== "." && after !== ".") {
      found.push({ table: name, use: "unclear" }); // a name with an underscore is no word and no column
    }
  }
  if (level.expected !== undefined && tokens.length > 1) found.push({ table: tokens.at(-1) ?? "", use: "unclear" });
  return found;
}
