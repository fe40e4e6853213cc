/** Large enough to make collections rare: each takes some ten milliseconds. */
const COLLECT_AFTER_BYTES = 48 * 1024 * 1024;

let droppedBytes = 0;

/**
 * V8 may notice hundreds of megabytes of dropped buffers late, and lets the heap of a long listing grow. Therefore the
 * process of a copy counts the bytes that it drops, and starts the collection itself. In other processes nothing happens,
 * because only the copy's is started with `--expose-gc`.
 */
export function noteDropped(bytes: number): void {
  droppedBytes += bytes;
  if (droppedBytes < COLLECT_AFTER_BYTES) return;
  droppedBytes = 0;
  globalThis.gc?.();
}
