import { Fault } from "./fault.ts";

/**
 * Splits a text into words like a POSIX shell, but without expansion, globbing, operators or comments. The words are
 * passed to a program directly; no shell is involved.
 *
 *   outside quotes   \ escapes the next character; \ before a newline (also CRLF) joins the lines
 *   '…'              every character is literal
 *   "…"              \ escapes only $ ` " \ and newline
 */
export function splitWords(text: string, field: string): string[] {
  return readWords(text, field).map((word) => word.text);
}

/** Quotes any text as a single word. */
export function quoteWord(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}

/** A word, and its position in the text that it was read from, quotes included. */
export interface Word {
  text: string;
  start: number;
  end: number;
}

export function readWords(text: string, field: string): Word[] {
  const words: Word[] = [];
  let at = 0;
  while (at < text.length) {
    if (isBlank(text, at)) {
      at += 1;
    } else if (isJoin(text, at)) {
      at = afterJoin(text, at);
    } else {
      const word = readWord(text, at, field);
      words.push(word);
      at = word.end;
    }
  }
  return words;
}

/** The position in the text of a character (UTF-16 code unit) of a word. */
export interface Origin {
  start: number;
  end: number;
  /** The position of the opening quote around it; undefined if it is not quoted. */
  quote: number | undefined;
}

/** The origin of each character of a word that was read from `text`. */
export function originsOf(text: string, word: Word): Origin[] {
  const origins: Origin[] = [];
  readWord(text, word.start, "", origins);
  return origins;
}

function readWord(text: string, start: number, field: string, origins?: Origin[]): Word {
  let word = "";
  let end = start;
  while (end < text.length && !isBlank(text, end)) {
    const piece = readPiece(text, end, field, origins);
    word += piece.text;
    end = piece.end;
  }
  return { text: word, start, end };
}

interface Piece {
  text: string;
  end: number;
}

function readPiece(text: string, at: number, field: string, origins: Origin[] | undefined): Piece {
  switch (text[at]) {
    case "'": {
      const end = text.indexOf("'", at + 1);
      if (end === -1) throw unbalanced(field, "single quote", at);
      if (origins !== undefined) {
        for (let each = at + 1; each < end; each += 1) origins.push({ start: each, end: each + 1, quote: at });
      }
      return { text: text.slice(at + 1, end), end: end + 1 };
    }
    case '"':
      return readDoubleQuoted(text, at, field, origins);
    case "\\": {
      if (at + 1 === text.length) throw unbalanced(field, "backslash", at);
      if (isJoin(text, at)) return { text: "", end: afterJoin(text, at) };
      origins?.push({ start: at, end: at + 2, quote: undefined });
      return { text: text.charAt(at + 1), end: at + 2 };
    }
    default:
      origins?.push({ start: at, end: at + 1, quote: undefined });
      return { text: text.charAt(at), end: at + 1 };
  }
}

function readDoubleQuoted(text: string, quote: number, field: string, origins: Origin[] | undefined): Piece {
  let word = "";
  let at = quote + 1;
  for (;;) {
    const character = text[at];
    if (character === undefined) throw unbalanced(field, "double quote", quote);
    if (character === '"') return { text: word, end: at + 1 };
    const escaped = text[at + 1];
    const isEscape = character === "\\" && escaped !== undefined && '$`"\\\n'.includes(escaped);
    const end = at + (isEscape ? 2 : 1);
    if (!isEscape || escaped !== "\n") {
      word += text.charAt(end - 1);
      origins?.push({ start: at, end, quote });
    }
    at = end;
  }
}

/** A backslash at the end of a line. */
function isJoin(text: string, at: number): boolean {
  return text.startsWith("\\\n", at) || text.startsWith("\\\r\n", at);
}

function afterJoin(text: string, at: number): number {
  return text.indexOf("\n", at) + 1;
}

function isBlank(text: string, at: number): boolean {
  return " \t\n\r".includes(text.charAt(at));
}

function unbalanced(field: string, what: string, at: number): Fault {
  return new Fault("invalid", `${field} has an unterminated ${what} at character ${at + 1}`);
}
