import { pino, type Logger } from "pino";
import { describeError } from "./describe-error.ts";
import { logLine, type LineForm, type LogRecord } from "./terminal/log-line.ts";
import type { Terminal } from "./terminal/terminal.ts";

/** The log goes to stderr; stdout belongs to the ready line and what a person reads on a first run. */
export type Log = Logger;

const options = { base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers: { err: describeError } };

/**
 * JSON lines, for programs. They are gathered for up to a second: one system call a request for its log line would cost
 * as much as the request.
 */
export function createJsonLog(level: string): Log {
  const destination = pino.destination({ fd: 2, sync: false, minLength: 4096, periodicFlush: 1000 });
  return pino({ ...options, level }, destination);
}

/** Lines for people, written at once. */
export function createTextLog(level: string, terminal: Terminal, forms: readonly LineForm[]): Log {
  const write = (json: string): void => {
    const record = JSON.parse(json) as LogRecord; // pino has just written it
    terminal.writeLine(logLine(record, forms, terminal.hasColours));
  };
  return pino({ ...options, level }, { write });
}
