/**
 * Locations: `Common/a/b` and `Users/<e-mail>/a/b`. The roots `Common` and `Users/<e-mail>` have no rows; every member
 * has a home. Users of earlier versions may have slashes in their e-mail addresses. A location can name such a home only
 * in the requests of its owner.
 */
import { invalid } from "../lib/fault.ts";
import { isLocationName } from "../lib/location-name.ts";

export interface Location {
  /** Null: `Common`. */
  readonly email: string | null;
  /** The names of the folders below the root, from the top. */
  readonly names: readonly string[];
}

/** How many folders a path can have below its root. */
export const MAX_DEPTH = 32;

/** The caller's own e-mail address may contain slashes; any other address ends at the first slash. */
export function parseLocation(field: string, text: string, ownEmail: string): Location {
  const [root, ...rest] = text.split("/");
  if (root !== "Common" && root !== "Users") throw invalid(field, "must start with Common or Users/<e-mail>");
  const ownParts = ownEmail.split("/").length;
  const isOwn = rest.slice(0, ownParts).join("/").toLowerCase() === ownEmail.toLowerCase();
  const email = root === "Common" ? null : rest.splice(0, isOwn ? ownParts : 1).join("/");
  if (email?.includes("@") === false) {
    throw invalid(field, "must name a member's home by e-mail address: Users/<e-mail>");
  }
  if (!rest.every(isLocationName)) {
    throw invalid(field, "must consist of folder names separated by single slashes, without . and ..");
  }
  return { email, names: rest };
}

export function rootLocation(email: string | null): string {
  return email === null ? "Common" : `Users/${email}`;
}
