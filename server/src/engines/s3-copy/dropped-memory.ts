/** A collection takes some ten milliseconds. */
const COLLECT_AFTER_BYTES = 48 * 1024 * 1024;

let droppedBytes = 0;

/**
 * V8 may notice hundreds of megabytes of dropped buffers late, and lets the heap of a long listing grow. The process of a
 * copy therefore counts what it drops, and collects it itself. Nothing happens in other processes: only the copy's is
 * started with `--expose-gc`.
 */
export function noteDropped(bytes: number): void {
  droppedBytes += bytes;
  if (droppedBytes < COLLECT_AFTER_BYTES) return;
  droppedBytes = 0;
  globalThis.gc?.();
}
