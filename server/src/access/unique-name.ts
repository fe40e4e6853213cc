import { Type } from "typebox";
import { invalid } from "../lib/fault.ts";

/** The name of a group or a role in a request; `checkUniqueName` holds what a schema cannot say. */
export const UniqueName = Type.String({
  minLength: 1,
  maxLength: 255,
  description: "Unique in the account; not digits alone, no comma, no control characters",
  examples: ["analysts"],
});

/** Paths and comma lists take an id or a name, so a name must not read as an id, as two names or as none. */
export function checkUniqueName(name: string): string {
  if (/[\p{Cc}\p{Zl}\p{Zp}]/u.test(name)) throw invalid("name", "must not contain control characters");
  if (name.includes(",")) throw invalid("name", "must not contain a comma");
  if (name.trim() !== name) throw invalid("name", "must not start or end with white space");
  if (/^\d+$/.test(name)) throw invalid("name", "must not be digits alone: it would read as an id");
  return name;
}
