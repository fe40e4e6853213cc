/**
 * Frees the memory of a chunk that is not used any more, and that nobody else uses. Otherwise the garbage collector would
 * let tens of megabytes of them wait. Does nothing with a part of a larger buffer.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
