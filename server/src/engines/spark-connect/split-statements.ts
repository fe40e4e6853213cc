import { setImmediate } from "node:timers/promises";
import { ScriptBlocks } from "./script-blocks.ts";
import { sqlTokens } from "./sql-tokens.ts";

export interface SqlStatement {
  /** The original text with comments, without the semicolon and the space around it. */
  readonly text: string;
  /** Its offset in the script. */
  readonly start: number;
}

/**
 * Splits a script at its semicolons like Spark's own command line, but by the rules of Spark's lexer: not inside
 * strings, names, comments and SQL scripts (`BEGIN … END`). Parts with only space and comments are dropped.
 */
export function splitStatements(script: string): SqlStatement[] {
  const cutting = cutInTurns(script);
  for (;;) {
    const turn = cutting.next();
    if (turn.done === true) return turn.value;
  }
}

/** The same without blocking the event loop: a script of 10 MiB takes seconds. */
export async function splitLongScript(script: string): Promise<SqlStatement[]> {
  const cutting = cutInTurns(script);
  for (;;) {
    const turn = cutting.next();
    if (turn.done === true) return turn.value;
    await setImmediate();
  }
}

/** Takes some milliseconds. */
const TOKENS_OF_A_TURN = 20_000;

function* cutInTurns(script: string): Generator<undefined, SqlStatement[]> {
  const statements: SqlStatement[] = [];
  let blocks = new ScriptBlocks();
  let begin = 0;
  let isEmpty = true;
  const cut = (end: number): void => {
    const part = script.slice(begin, end);
    const text = part.trim();
    if (!isEmpty) statements.push({ text, start: begin + part.indexOf(text) });
    blocks = new ScriptBlocks();
    isEmpty = true;
  };
  let tokens = 0;
  for (const token of sqlTokens(script)) {
    tokens += 1;
    if (tokens % TOKENS_OF_A_TURN === 0) yield;
    if (token.kind === "space" || token.kind === "comment") continue;
    if (token.kind === "semicolon" && !blocks.isOpen) {
      cut(token.start);
      begin = token.end;
      continue;
    }
    isEmpty = false;
    if (token.kind === "word") blocks.word(token.word);
    else if (token.kind === "semicolon") blocks.semicolon();
    else if (token.kind === "colon") blocks.colon();
    else if (token.kind === "quoted") blocks.quoted();
    else blocks.other(script.slice(token.start, token.end));
  }
  cut(script.length);
  return statements;
}
