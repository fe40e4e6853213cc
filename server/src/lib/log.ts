import { pino, type Logger } from "pino";
import { describeError } from "./describe-error.ts";

export type Log = Logger;

/**
 * JSON lines on stderr; stdout belongs to the ready line and what a person reads on a first run. Lines are gathered for
 * up to a second: one system call a request for its log line would cost as much as the request.
 */
export function createLog(level: string): Log {
  const destination = pino.destination({ fd: 2, sync: false, minLength: 4096, periodicFlush: 1000 });
  const serializers = { err: describeError };
  return pino({ level, base: null, timestamp: pino.stdTimeFunctions.isoTime, serializers }, destination);
}
