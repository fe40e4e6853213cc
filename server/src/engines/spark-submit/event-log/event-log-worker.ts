/**
 * The thread that reads event logs. It keeps a reader for each recently requested log, so that a growing log is not
 * read from its beginning again.
 */
import { readlinkSync } from "node:fs";
import { setPriority } from "node:os";
import { basename } from "node:path";
import { parentPort } from "node:worker_threads";
import type { TurnReply, TurnRequest } from "./event-logs.ts";
import { EventLogReader } from "./event-log-reader.ts";

const port = parentPort;
if (port === null) throw new Error("this module is the program of a thread");

const readers = new Map<string, EventLogReader>();
/** More than the programs that run on a node. In the worst case a reader holds half a MiB. */
const keptReaders = 256;

lowerPriority();
port.on("message", (request: TurnRequest) => port.postMessage(answer(request), []));

function answer({ path, wants, isLast }: TurnRequest): TurnReply {
  const reader = readerOf(path);
  if (!readMore(reader) && !isLast) return undefined;
  return { progress: reader.progress, jobs: wants === "jobs" ? reader.jobs : [] };
}

/** A file that cannot be read counts as having nothing new. */
function readMore(reader: EventLogReader): boolean {
  try {
    return reader.readMore();
  } catch {
    return true;
  }
}

function readerOf(path: string): EventLogReader {
  const reader = readers.get(path) ?? new EventLogReader(path);
  readers.delete(path);
  readers.set(path, reader);
  const [oldest] = readers.keys();
  if (readers.size > keptReaders && oldest !== undefined) readers.delete(oldest);
  return reader;
}

/** The thread that serves requests has priority. On Linux each thread has its own nice value. */
function lowerPriority(): void {
  try {
    setPriority(Number(basename(readlinkSync("/proc/thread-self"))), 10);
  } catch {
    // Other systems have no priority per thread.
  }
}
