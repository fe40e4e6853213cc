/** A failure of a copy, with one line for the user who submitted it. */
export class CopyError extends Error {
  override readonly name: string = "CopyError";
}
