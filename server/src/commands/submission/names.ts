import { invalid } from "../../lib/fault.ts";

/** §4.2. The schema checks length and well-formedness. HTML tags need characters that are forbidden here. */
const FORBIDDEN = /[&<>"']/;
const CONTROL = /\p{Cc}/u;

export function checkName(name: string | undefined): string | null {
  if (name === undefined) return null;
  if (FORBIDDEN.test(name)) throw invalid("name", `must not contain & < > " ' or HTML tags`);
  if (CONTROL.test(name)) throw invalid("name", "must not contain control characters");
  return name;
}

/** Removes duplicate tags. */
export function checkTags(tags: readonly string[] = []): string[] {
  if (tags.some((tag) => CONTROL.test(tag))) throw invalid("tags", "must not contain control characters");
  return [...new Set(tags)];
}
