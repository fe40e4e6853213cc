import { invalid } from "./fault.ts";

/**
 * The rule that every name follows, of whatever kind of object: it has no control characters and at least one visible
 * character. Names that were stored before the rule existed stay as they are: only names in requests are checked.
 */
export function checkName(field: string, name: string): string {
  if (hasControlCharacter(name)) throw invalid(field, "must not contain control characters");
  if (!hasVisibleCharacter(name)) throw invalid(field, "must have at least one visible character");
  return name;
}

export function hasControlCharacter(text: string): boolean {
  return /[\p{Cc}\p{Zl}\p{Zp}]/u.test(text);
}

/**
 * Not visible by themselves: white space, zero-width and other format characters, fillers, variation selectors and tags
 * (default ignorable), combining marks without a letter, and the blank Braille pattern.
 */
export function hasVisibleCharacter(text: string): boolean {
  return /[^\p{White_Space}\p{Cc}\p{Cf}\p{Cs}\p{M}\p{Default_Ignorable_Code_Point}\u2800]/u.test(text);
}
