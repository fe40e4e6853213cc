import { pino, type Logger } from "pino";
import { logLine, type LineForm, type LogRecord } from "./terminal/log-line.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** The log goes to stderr; stdout is for the ready line and the output of the first run. */
export type Log = Logger;

const options = { base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } };

/**
 * Writes JSON lines, for programs. They are buffered for up to a second: a system call for the log line of each request
 * would cost as much as the request.
 */
export function createJsonLog(level: string): Log {
  const destination = pino.destination({ fd: 2, sync: false, minLength: 4096, periodicFlush: 1000 });
  return pino({ ...options, level }, destination);
}

/** Writes lines of text for people, without a buffer. */
export function createTextLog(level: string, terminal: Terminal, forms: readonly LineForm[]): Log {
  const write = (json: string): void => {
    const record = JSON.parse(json) as LogRecord; // pino wrote it
    terminal.writeLine(logLine(record, forms, terminal.hasColours));
  };
  return pino({ ...options, level }, { write });
}

/**
 * An error as it may be logged. Errors of PostgreSQL contain values of the statement in `detail`, `where` and other
 * fields, and errors about a value (SQLSTATE 22…) quote it in their message: these are left out.
 */
interface DescribedError {
  type: string;
  message: string;
  stack: string;
  code?: string;
  table?: string;
  constraint?: string;
  cause?: unknown;
}

const LOGGED_FIELDS = ["code", "table", "constraint"] as const;
const DATA_EXCEPTION = /^22[0-9A-Z]{3}$/;

export function describeError(error: unknown): unknown {
  if (!(error instanceof Error)) return typeof error;
  const fields = new Map<string, unknown>(Object.entries(error));
  const quotesValues = DATA_EXCEPTION.test(String(fields.get("code")));
  const described: DescribedError = {
    type: error.name,
    message: quotesValues ? error.message.replace(/".*"/s, "(a value)") : error.message,
    stack: framesOf(error),
  };
  for (const key of LOGGED_FIELDS) {
    const value = fields.get(key);
    if (typeof value === "string") described[key] = value;
  }
  if (error.cause !== undefined) described.cause = describeError(error.cause);
  return described;
}

/** The stack without the message, which it repeats. */
function framesOf({ stack = "" }: Error): string {
  return stack
    .split("\n")
    .filter((line) => /^\s+at /.test(line))
    .map((line) => line.trim())
    .join("\n");
}
