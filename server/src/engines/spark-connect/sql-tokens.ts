/**
 * The tokens of Spark's SQL that are needed to split a script into statements, by the rules of Spark's own lexer. A
 * token without its closing quote extends to the end of the text, so that Spark reports the error.
 */
export type SqlToken =
  | { readonly kind: "word"; readonly start: number; readonly end: number; readonly word: string }
  | { readonly kind: Exclude<TokenKind, "word">; readonly start: number; readonly end: number };

/** Comments mean nothing to Spark, but an unclosed one is an error that has to reach Spark. */
type TokenKind = "word" | "quoted" | "semicolon" | "colon" | "dot" | "space" | "comment" | "unclosed comment" | "other";

export function* sqlTokens(sql: string): Generator<SqlToken> {
  for (let start = 0; start < sql.length;) {
    const token = tokenAt(sql, start);
    yield token;
    start = token.end;
  }
}

const plain: Readonly<Record<string, "semicolon" | "colon" | "dot">> = { ";": "semicolon", ":": "colon", ".": "dot" };
const space = /\s+/y;
const wordPattern = /[\p{L}\p{Nd}_]+/uy;
const letters = /^\p{L}+$/u;
/** A path without quotes, such as `hdfs://host/a--b`, is one word. */
const path = /:\/\/[\p{L}0-9_/.?=&#%-]+/uy;

function tokenAt(sql: string, start: number): SqlToken {
  const [first = "", second = ""] = [sql[start], sql[start + 1]];
  if (first === "'" || first === '"') return { kind: "quoted", start, end: endOfString(sql, start) };
  if (first === "`") return { kind: "quoted", start, end: endOfName(sql, start) };
  if (/[rR]/.test(first) && /['"]/.test(second)) {
    return { kind: "quoted", start, end: after(sql, second, start + 2) };
  }
  if (first === "-" && second === "-") return { kind: "comment", start, end: endOfLine(sql, start) };
  // `/*+` begins a hint, which consists of ordinary tokens.
  if (first === "/" && second === "*" && sql[start + 2] !== "+") return bracketedComment(sql, start);
  const kind = plain[first];
  if (kind !== undefined) return { kind, start, end: start + 1 };
  const white = matchAt(space, sql, start);
  if (white > start) return { kind: "space", start, end: white };
  const end = matchAt(wordPattern, sql, start);
  if (end === start) return { kind: "other", start, end: start + 1 };
  const word = sql.slice(start, end);
  if (sql[end] === ":" && letters.test(word)) {
    return { kind: "word", start, end: matchAt(path, sql, end), word: word.toUpperCase() };
  }
  return { kind: "word", start, end, word: word.toUpperCase() };
}

/** Returns the end of the match that begins at `start`, or `start` if there is none. */
function matchAt(pattern: RegExp, sql: string, start: number): number {
  pattern.lastIndex = start;
  return pattern.test(sql) ? pattern.lastIndex : start;
}

function after(sql: string, what: string, from: number): number {
  const found = sql.indexOf(what, from);
  return found === -1 ? sql.length : found + what.length;
}

/** A doubled quote may be read as the end of one string and the begin of the next. */
function endOfString(sql: string, start: number): number {
  const quote = sql[start];
  for (let at = start + 1; at < sql.length; at++) {
    if (sql[at] === "\\") at++;
    else if (sql[at] === quote) return at + 1;
  }
  return sql.length;
}

function endOfName(sql: string, start: number): number {
  return after(sql, "`", start + 1);
}

/** A backslash at the end of a line continues it. */
function endOfLine(sql: string, start: number): number {
  for (let at = start + 2; at < sql.length; at++) {
    const character = sql[at];
    if (character === "\\" && sql[at + 1] === "\n") at++;
    else if (character === "\n" || character === "\r") return at;
  }
  return sql.length;
}

function bracketedComment(sql: string, start: number): SqlToken {
  let depth = 1;
  for (let at = start + 2; at < sql.length; at++) {
    const [character, next] = [sql[at], sql[at + 1]];
    if (character === "*" && next === "/") {
      at++;
      if (--depth === 0) return { kind: "comment", start, end: at + 1 };
    } else if (character === "/" && next === "*" && sql[at + 2] !== "+") {
      at++;
      depth++;
    }
  }
  return { kind: "unclosed comment", start, end: sql.length };
}
