import { styleText } from "node:util";
import { printable, shortened } from "./printable.ts";

/** A log record as pino writes it. */
export type LogRecord = Readonly<Record<string, unknown>>;

export type Tone = "dim" | "green" | "yellow" | "red";

export interface Piece {
  readonly text: string;
  readonly tone?: Tone;
}

/**
 * Renders one kind of record; undefined for records of other kinds. It may return any text: `logLine` makes it
 * printable.
 */
export type LineForm = (record: LogRecord) => readonly Piece[] | undefined;

const INDENT = " ".repeat(10);
const MAX_VALUE_LENGTH = 200;
const REASON_LINES = 20;
/** These errors mean a defect, so the line shows where in the code it happened. */
const DEFECTS = new Set(["TypeError", "RangeError", "ReferenceError", "SyntaxError", "AssertionError", "EvalError"]);
const FRAMES = 5;

/** One line of text: the time, the level of warnings and errors, what happened and why. */
export function logLine(record: LogRecord, forms: readonly LineForm[], hasColours: boolean): string {
  const pieces = [...levelPieces(record.level), ...(firstForm(record, forms) ?? plainForm(record))];
  const paint = ({ text, tone }: Piece): string => {
    const safe = printable(text);
    return tone === undefined || !hasColours ? safe : styleText(tone, safe, { validateStream: false });
  };
  const [reason = "", ...more] = reasonOf(record.err);
  const head = [{ text: timeOf(record.time), tone: "dim" as const }, ...pieces].map(paint).join("  ");
  const line = reason === "" ? head : `${head}: ${printable(reason)}`;
  return [line, ...more.map((each) => `${INDENT}${printable(each)}`)].join("\n");
}

function firstForm(record: LogRecord, forms: readonly LineForm[]): readonly Piece[] | undefined {
  for (const form of forms) {
    const pieces = form(record);
    if (pieces !== undefined) return pieces;
  }
  return undefined;
}

function timeOf(time: unknown): string {
  return new Date(String(time)).toTimeString().slice(0, 8);
}

const WARN = 40;
const ERROR = 50;

function levelPieces(level: unknown): Piece[] {
  if (typeof level !== "number" || level < WARN) return [];
  return level < ERROR ? [{ text: "WARNING", tone: "yellow" }] : [{ text: "ERROR", tone: "red" }];
}

const NOT_FIELDS = new Set(["level", "time", "msg", "err"]);

/** The message, and the fields after it: `cluster state change failed (cluster 3, state PENDING)`. */
function plainForm(record: LogRecord): readonly Piece[] {
  const fields = Object.entries(record).filter(([name]) => !NOT_FIELDS.has(name));
  const texts = fields.flatMap(([name, value]) => fieldTexts(name, value));
  const message = typeof record.msg === "string" ? record.msg : "";
  return [{ text: texts.length === 0 ? message : `${message} (${texts.join(", ")})` }];
}

function fieldTexts(name: string, value: unknown): string[] {
  if (Array.isArray(value)) return [`${name} ${shortened(value.map(String).join(" "), MAX_VALUE_LENGTH)}`];
  if (isRecord(value)) return Object.entries(value).flatMap(([key, inner]) => fieldTexts(key, inner));
  const isShown = typeof value === "string" || typeof value === "number" || typeof value === "boolean";
  return isShown ? [`${name} ${shortened(String(value), MAX_VALUE_LENGTH)}`] : [];
}

/** The messages of an error and its causes; for a defect also its location in the code. */
function reasonOf(error: unknown): string[] {
  const chain: LogRecord[] = [];
  for (let at = error; isRecord(at); at = at.cause) chain.push(at);
  const messages = chain.map(({ message, code, type }) => String(message || code || type));
  const isNew = (message: string, index: number): boolean =>
    !messages.slice(0, index).some((earlier) => earlier.includes(message));
  const lines = messages
    .filter(isNew)
    .join(": ")
    .split("\n")
    .map((line) => line.trimEnd());
  const shown = lines.filter((line) => line !== "").slice(0, REASON_LINES);
  const { type, stack } = chain.at(-1) ?? {};
  if (!DEFECTS.has(String(type)) || typeof stack !== "string") return shown;
  return [...shown, ...stack.split("\n").slice(0, FRAMES)];
}

function isRecord(value: unknown): value is LogRecord {
  return typeof value === "object" && value !== null;
}
