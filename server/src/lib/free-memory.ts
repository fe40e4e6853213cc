/**
 * Frees the memory of a chunk that no code uses any more. The garbage collector would keep tens of megabytes of such
 * chunks for a while. Does nothing with a part of a larger buffer.
 */
export function freeMemory({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}
