import { closeSync, constants, fsyncSync, openSync, renameSync, utimesSync, writeSync } from "node:fs";
import { join } from "node:path";
import { syncFolder } from "../../lib/private-file.ts";
import { fileNames, render, type RunStatus } from "./protocol.ts";

const sizeBytes = 4096;
/** Without O_TRUNC, because the file reserves its space. */
const openFlags = constants.O_WRONLY | constants.O_CREAT;

export interface StatusFile {
  /** Returns when the status is on the disk. */
  write(status: RunStatus): void;
  /** Shows that the runner is alive; throws if the file is gone. */
  touch(): void;
}

/**
 * Every status has the same size and overwrites a file that was created with that size before, so that the final status
 * of a run can be written to a full disk too.
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

/** A failure is ignored: there may be space again at the next write. */
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
