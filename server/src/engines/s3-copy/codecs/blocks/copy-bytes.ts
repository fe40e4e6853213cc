/** From this length on the built-in copy is faster than a loop. */
const LONG = 48;

/** Copies bytes of another array. The caller has checked that both ranges exist. */
export function copyLiterals(from: Uint8Array, start: number, to: Uint8Array, at: number, length: number): void {
  if (length >= LONG) {
    to.set(from.subarray(start, start + length), at);
    return;
  }
  for (let i = 0; i < length; i++) to[at + i] = from[start + i] as number;
}

/**
 * Repeats bytes that were written `distance` before `at`; the ranges overlap if the length exceeds the distance. The
 * caller has checked that both ranges exist.
 */
export function copyEarlier(bytes: Uint8Array, at: number, distance: number, length: number): void {
  const start = at - distance;
  if (length >= LONG && distance >= length) {
    bytes.copyWithin(at, start, start + length);
  } else if (length >= LONG && distance === 1) {
    bytes.fill(bytes[start] as number, at, at + length);
  } else {
    for (let i = 0; i < length; i++) bytes[at + i] = bytes[start + i] as number;
  }
}
