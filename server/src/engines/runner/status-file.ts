import { closeSync, constants, fsyncSync, openSync, renameSync, utimesSync, writeSync } from "node:fs";
import { join } from "node:path";
import { syncFolder } from "../../lib/private-file.ts";
import { fileNames, render, type RunStatus } from "./protocol.ts";

const sizeBytes = 4096;
/** Not truncated: the room the file has is what it is for. */
const openFlags = constants.O_WRONLY | constants.O_CREAT;

export interface StatusFile {
  /** Returns when it is on the disk. */
  write(status: RunStatus): void;
  /** Tells that the runner lives; throws when the file is gone. */
  touch(): void;
}

/**
 * Every status has the same size and is written over a file of that size made beforehand: the last word of a run gets
 * onto a full disk too.
 */
export function openStatusFile(folder: string): StatusFile {
  const path = join(folder, fileNames.status);
  const next = `${path}.next`;
  reserve(next);
  return {
    write(status) {
      writeWhole(next, pad(render({ ...status, message: status.message?.slice(0, 500) ?? null })));
      renameSync(next, path);
      syncFolder(folder);
      if (status.state !== "ended") reserve(next);
    },
    touch() {
      const now = new Date();
      utimesSync(path, now, now);
    },
  };
}

/** Without room for it the next write may still succeed by then. */
function reserve(path: string): void {
  try {
    writeWhole(path, pad(""));
  } catch {
    // see above
  }
}

function writeWhole(path: string, bytes: Buffer): void {
  const descriptor = openSync(path, openFlags, 0o600);
  try {
    writeSync(descriptor, bytes, 0, bytes.length, 0);
    fsyncSync(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

function pad(text: string): Buffer {
  const bytes = Buffer.alloc(sizeBytes, " ");
  bytes.write(text);
  return bytes;
}
