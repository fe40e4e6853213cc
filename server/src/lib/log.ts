import { pino, type Logger } from "pino";

export type Log = Logger;

/** JSON lines on stderr; stdout belongs to the ready line and what a person reads on a first run. */
export function createLog(level: string): Log {
  return pino(
    { level, base: null, timestamp: pino.stdTimeFunctions.isoTime },
    pino.destination({ fd: 2, sync: false }),
  );
}
