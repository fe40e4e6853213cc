import { sizeText } from "../../lib/size-text.ts";

/** Why a command ends whose result is larger than the limit. A part of a result would pass for the whole. */
export function tooMuchOutput(limitBytes: number): string {
  return `too much output: HEADGATE_OUTPUT_LIMIT allows ${sizeText(limitBytes)}, so it has no result`;
}
