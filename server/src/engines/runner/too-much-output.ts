import { sizeText } from "../../lib/size-text.ts";

/** A command whose result exceeds the limit has none, because a part could be mistaken for the whole. */
export function tooMuchOutput(limitBytes: number): string {
  return `too much output: HEADGATE_OUTPUT_LIMIT allows ${sizeText(limitBytes)}, so it has no result`;
}
