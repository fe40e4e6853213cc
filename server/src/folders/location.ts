import { invalid } from "../lib/fault.ts";
import { isLocationName } from "../lib/location-name.ts";

/**
 * Locations: `Common/a/b` and `Users/<e-mail>/a/b`. The roots `Common` and `Users/<e-mail>` have no rows; every member
 * has a home. An e-mail address may contain slashes, so the text alone does not say where it ends.
 */
export interface Location {
  /** All ways to split the text into an address and names; the first one that exists counts. */
  readonly readings: readonly Reading[];
}

export interface Reading {
  /** Null: `Common`. */
  readonly email: string | null;
  /** The names of the folders below the root, from the top. */
  readonly names: readonly string[];
}

/** How many folders a path can have below its root. */
export const MAX_DEPTH = 32;

const MAX_EMAIL_LENGTH = 254;

export function parseLocation(field: string, text: string): Location {
  const [root, ...rest] = text.split("/");
  if (root === "Common") return { readings: [checkedReading(field, { email: null, names: rest })] };
  if (root !== "Users") throw invalid(field, "must start with Common or Users/<e-mail>");
  const first = rest.findIndex((segment) => segment.includes("@"));
  if (first === -1) throw invalid(field, "must name a member's home by e-mail address: Users/<e-mail>");
  const readings = rest
    .slice(first)
    .map((_segment, index): Reading => ({
      email: rest.slice(0, first + index + 1).join("/"),
      names: rest.slice(first + index + 1),
    }))
    .filter(({ email }) => email !== null && email.length <= MAX_EMAIL_LENGTH);
  const valid = readings.filter(({ names }) => names.every(isLocationName));
  if (valid.length === 0) throw invalid(field, NAMES_RULE);
  return { readings: valid };
}

const NAMES_RULE = "must consist of folder names separated by single slashes, without . and ..";

function checkedReading(field: string, reading: Reading): Reading {
  if (!reading.names.every(isLocationName)) throw invalid(field, NAMES_RULE);
  return reading;
}

export function rootLocation(email: string | null): string {
  return email === null ? "Common" : `Users/${email}`;
}
