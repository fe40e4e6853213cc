/** A collection takes a few milliseconds. */
const COLLECT_AFTER_BYTES = 48 * 1024 * 1024;

let droppedBytes = 0;

/**
 * V8 sees how much memory buffers have only when their number grows, and may be hundreds of megabytes late. The process of
 * a copy therefore counts the large buffers that it drops, and collects them itself. Nothing happens in other processes:
 * only the copy's is started with `--expose-gc`.
 */
export function noteDropped(bytes: number): void {
  droppedBytes += bytes;
  if (droppedBytes < COLLECT_AFTER_BYTES) return;
  droppedBytes = 0;
  globalThis.gc?.();
}
