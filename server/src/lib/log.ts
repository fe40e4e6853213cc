import { pino, type Logger } from "pino";
import { describeError } from "./describe-error.ts";
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
