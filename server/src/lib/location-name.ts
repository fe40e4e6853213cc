import { Type } from "typebox";
import { invalid, type Rule } from "./fault.ts";
import { checkName, hasControlCharacter } from "./name-rule.ts";

/** The name of a folder, or of an object in a folder: one part of a location such as `Common/reports/2026`. */
export const LocationName = Type.String({
  minLength: 1,
  maxLength: 255,
  description: "Unique in its folder; no slash, no control characters, at least one visible character, not . or ..",
  examples: ["reports"],
});

/** The longest text that is accepted as a location, which has up to 32 names. */
export const MAX_LOCATION_LENGTH = 10_000;

/** The rules for new names that the schema cannot express. */
export function checkLocationName(field: string, name: string): string {
  const problem = nameProblem(name);
  if (problem !== undefined) throw invalid(field, problem);
  return checkName(field, name);
}

/** For names in locations. An existing name can lack visible characters, because earlier versions accepted that. */
export function isLocationName(name: string): boolean {
  return name.length > 0 && nameProblem(name) === undefined;
}

function nameProblem(name: string): Rule | undefined {
  if (name.includes("/")) return "must not contain a slash: it is one name, not a location";
  if (name === "." || name === "..") return "must not be . or ..";
  if (hasControlCharacter(name)) return "must not contain control characters";
  if (name.trim() !== name) return "must not start or end with white space";
  return undefined;
}
