/** Compressed data that cannot be decoded. The message says why; the caller adds the name of the file. */
export class CodecError extends Error {
  override readonly name = "CodecError";
}

export function truncated(position: number): CodecError {
  return new CodecError(`truncated at byte ${position}`);
}
