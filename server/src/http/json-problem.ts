/**
 * Says why and where a text is not JSON, from the error of `JSON.parse`, and repeats at most one character of it: the
 * text may contain secrets. For a character that cannot begin a value, V8 gives no position and quotes the surrounding
 * text instead, so the position is searched for here.
 */
export function jsonProblem(text: string, error: unknown): string {
  const { message } = error instanceof Error ? error : { message: "" };
  // A message with a quotation mark quotes the text.
  const [, reason, position] = /^([^"]+?)(?: in JSON)? at position (\d+)/.exec(message) ?? [];
  if (reason !== undefined) {
    return `${reason.charAt(0).toLowerCase()}${reason.slice(1)} at ${lineAndColumn(text, Number(position))}`;
  }
  if (message === "Unexpected end of JSON input") return `unexpected end at ${lineAndColumn(text, text.length)}`;
  if (!message.endsWith("is not valid JSON") || text.length > MAX_SEARCHED_LENGTH) return "unexpected character";
  const at = firstUnexpected(text);
  return `unexpected character ${shownCharacter(text, at)} at ${lineAndColumn(text, at)}`;
}

/** Longer texts are not searched: a pattern needs memory for a long string. */
const MAX_SEARCHED_LENGTH = 64 * 1024;

const STRING = String.raw`"(?:[^"\\]|\\.)*"`;
const SPACE = String.raw`[ \t\r\n]`;
/** A value must begin after these; after `[` the array may also end. */
const BEFORE_VALUE = String.raw`(?:^|[:,])${SPACE}*|\[${SPACE}*(?!\])`;
const VALUE_START = String.raw`[-"\d[{]|true|false|null`;
/** The correct beginning of a misspelt `true`, `false` or `null`. */
const BEGUN_WORD = "(?:t(?:ru?)?|f(?:a(?:ls?)?)?|n(?:ul?)?)?";
const STRING_OR_NO_VALUE = new RegExp(`${STRING}|(?:${BEFORE_VALUE})(?!${SPACE}|${VALUE_START})${BEGUN_WORD}`, "g");

/**
 * One pass over the text. The text is valid up to the unexpected character, because V8 gives the position of every other
 * error, so only positions where a value must begin are checked.
 */
function firstUnexpected(text: string): number {
  for (const { 0: match, index } of text.matchAll(STRING_OR_NO_VALUE)) {
    if (!match.startsWith('"')) return index + match.length;
  }
  return 0;
}

function shownCharacter(text: string, at: number): string {
  const code = text.codePointAt(at) ?? 0;
  const character = String.fromCodePoint(code);
  return /[\p{L}\p{N}\p{P}\p{S}]/u.test(character)
    ? character
    : `U+${code.toString(16).toUpperCase().padStart(4, "0")}`;
}

/** Counts without splitting: a body of line ends would become an array of millions. */
function lineAndColumn(text: string, position: number): string {
  let [line, lineStart] = [1, 0];
  for (let at = 0; at < position; at += 1) {
    if (text.charCodeAt(at) !== LINE_END) continue;
    line += 1;
    lineStart = at + 1;
  }
  return `line ${line}, column ${position - lineStart + 1}`;
}

const LINE_END = 0x0a;
