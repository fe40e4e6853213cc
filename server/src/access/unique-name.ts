import { Type } from "typebox";
import { invalid } from "../lib/fault.ts";

/** The name of a group or a role in a request; `checkUniqueName` checks the rules that a schema cannot express. */
export const UniqueName = Type.String({
  minLength: 1,
  maxLength: 255,
  description: "Unique in the account; not only digits, no comma, no control characters",
  examples: ["analysts"],
});

/** Paths and comma-separated lists accept ids and names, so a name must not look like an id, several names or none. */
export function checkUniqueName(name: string): string {
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name)) throw invalid("name", "must not contain control characters");
  if (name.includes(",")) throw invalid("name", "must not contain a comma");
  if (name.trim() !== name) throw invalid("name", "must not start or end with white space");
  if (/^\d+$/.test(name)) throw invalid("name", "must not consist of digits only: it would be read as an id");
  return name;
}
