const MODULUS = 65521;
/** The sums of this many bytes stay below 2^31, so they are small integers to the engine. */
const STEP = 3800;

/** Adler-32 (RFC 1950), which node:zlib does not offer. */
export function adler32(bytes: Uint8Array): number {
  let a = 1;
  let b = 0;
  for (let at = 0; at < bytes.length;) {
    const end = Math.min(at + STEP, bytes.length);
    for (; at < end; at++) {
      a += bytes[at] as number;
      b += a;
    }
    a %= MODULUS;
    b %= MODULUS;
  }
  return b * 65536 + a;
}
