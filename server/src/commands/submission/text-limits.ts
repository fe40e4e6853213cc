import { requireFeature } from "../../access/caller.ts";
import { invalid } from "../../lib/fault.ts";
import type { Feature } from "../../lib/features.ts";
import { LONGEST_TEXT_BYTES } from "./body.ts";
import type { Language } from "./language.ts";
import type { Submitter } from "./plan.ts";

/** The longest program. Features allow more, but not for command lines. */
export const INLINE_BYTES = 256 * 1024;
export const SCRIPT_BYTES = 1024 * 1024;
/** The longest arguments, with their macros filled in. */
export const ARGUMENTS_BYTES = 256 * 1024;

export interface TextLimit {
  bytes: number;
  /** The feature that allows more. */
  feature: Feature | null;
}

export function inlineLimit(submitter: Submitter, language: Language): TextLimit {
  return limitOf(submitter, language, INLINE_BYTES, "large_inline_content");
}

export function scriptLimit(submitter: Submitter, language: Language): TextLimit {
  return limitOf(submitter, language, SCRIPT_BYTES, "large_scripts");
}

export function checkLength(submitter: Submitter, field: string, bytes: number, limit: TextLimit): void {
  if (bytes <= limit.bytes) return;
  if (limit.feature !== null && bytes <= LONGEST_TEXT_BYTES) requireFeature(submitter, limit.feature, field);
  throw tooLong(field, limit.feature === null ? limit.bytes : LONGEST_TEXT_BYTES);
}

export function tooLong(field: string, bytes: number): Error {
  return invalid(field, `must have at most ${bytes / 1024} KiB`);
}

function limitOf({ features }: Submitter, language: Language, bytes: number, feature: Feature): TextLimit {
  if (language === "command_line") return { bytes, feature: null };
  return features.has(feature) ? { bytes: LONGEST_TEXT_BYTES, feature: null } : { bytes, feature };
}
