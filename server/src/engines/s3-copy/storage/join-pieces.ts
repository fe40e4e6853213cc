/** The contents of a part in one buffer. A single piece is not copied. */
export function joinPieces(pieces: readonly Buffer[]): Buffer {
  const [first = Buffer.alloc(0), second] = pieces;
  return second === undefined ? first : Buffer.concat(pieces);
}
