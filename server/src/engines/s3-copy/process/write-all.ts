import { writeSync } from "node:fs";

const PAUSE_MS = 5;
const never = new Int32Array(new SharedArrayBuffer(4));

/**
 * Writes the whole text to standard output or error. It may be a non-blocking pipe, which takes no bytes while the runner
 * is busy; `pause` blocks until the next try, so that the process does not use a processor meanwhile.
 */
export function writeAll(descriptor: number, text: string, pause: () => void = sleep): void {
  const bytes = Buffer.from(text);
  for (let at = 0; at < bytes.length;) {
    try {
      at += writeSync(descriptor, bytes, at);
    } catch (error) {
      if (!(error instanceof Error && "code" in error && error.code === "EAGAIN")) throw error;
      pause();
    }
  }
}

function sleep(): void {
  Atomics.wait(never, 0, 0, PAUSE_MS);
}
