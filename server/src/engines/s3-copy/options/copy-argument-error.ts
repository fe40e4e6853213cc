import { CopyError } from "../copy-error.ts";

/**
 * The arguments of a copy are wrong, so that every attempt fails in the same way. The message is one line and contains no
 * credentials.
 */
export class CopyArgumentError extends CopyError {
  override readonly name = "CopyArgumentError";
}
