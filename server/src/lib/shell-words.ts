import { Fault } from "./fault.ts";

/**
 * Splits a text into words as a POSIX shell does, and does nothing else that a shell does: no expansion, no globbing,
 * no operators, no comments. The words go to a program as they are; no shell ever sees them.
 *
 *   outside quotes   \ keeps the next character, \ before a newline joins the lines
 *   '…'              everything is itself
 *   "…"              \ counts before $ ` " \ and newline only
 */
export function splitWords(text: string, field: string): string[] {
  const words: string[] = [];
  let at = 0;
  while (at < text.length) {
    if (isBlank(text, at)) {
      at += 1;
    } else if (text.startsWith("\\\n", at)) {
      at += 2;
    } else {
      const { word, end } = readWord(text, at, field);
      words.push(word);
      at = end;
    }
  }
  return words;
}

interface Piece {
  word: string;
  /** The place behind it. */
  end: number;
}

function readWord(text: string, start: number, field: string): Piece {
  let word = "";
  let at = start;
  while (at < text.length && !isBlank(text, at)) {
    const piece = readPiece(text, at, field);
    word += piece.word;
    at = piece.end;
  }
  return { word, end: at };
}

function readPiece(text: string, at: number, field: string): Piece {
  switch (text[at]) {
    case "'": {
      const end = text.indexOf("'", at + 1);
      if (end === -1) throw unbalanced(field, "single quote", at);
      return { word: text.slice(at + 1, end), end: end + 1 };
    }
    case '"':
      return readDoubleQuoted(text, at, field);
    case "\\": {
      if (at + 1 === text.length) throw unbalanced(field, "backslash", at);
      const escaped = text.charAt(at + 1);
      return { word: escaped === "\n" ? "" : escaped, end: at + 2 };
    }
    default:
      return { word: text.charAt(at), end: at + 1 };
  }
}

function readDoubleQuoted(text: string, start: number, field: string): Piece {
  let word = "";
  let at = start + 1;
  for (;;) {
    const character = text[at];
    if (character === undefined) throw unbalanced(field, "double quote", start);
    if (character === '"') return { word, end: at + 1 };
    const escaped = text[at + 1];
    if (character === "\\" && escaped !== undefined && '$`"\\\n'.includes(escaped)) {
      if (escaped !== "\n") word += escaped;
      at += 2;
    } else {
      word += character;
      at += 1;
    }
  }
}

function isBlank(text: string, at: number): boolean {
  return " \t\n\r".includes(text.charAt(at));
}

function unbalanced(field: string, what: string, at: number): Fault {
  return new Fault("invalid", `${field} has a ${what} at character ${at + 1} that nothing ends`);
}
