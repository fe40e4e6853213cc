/**
 * Paths of files in an account's storage, as users write them: relative, with `/` between names. The rest of the URL
 * after `files/` is percent-decoded once and taken as it is.
 */
import { unfinishedName } from "../object-store/file/list-files.ts";
import { invalid } from "../lib/fault.ts";

const BROKEN_ESCAPE = /%(?![0-9A-Fa-f]{2})/;

interface PathRules {
  /** It may end with a slash, which is left out. */
  readonly isFolder?: boolean;
  /** It may have names that are reserved for temporary files. */
  readonly mayBeReserved?: boolean;
}

/** The path in a URL. */
export function pathInUrl(sent: string, { isFolder = false, mayBeReserved = false }: PathRules = {}): string {
  const path = decoded(sent);
  const named = isFolder && path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
  checkNames("path", named.split("/"), mayBeReserved);
  return named;
}

/** `prefix` and `after` of a list: the last name may be the beginning of one. */
export function checkBeginning(field: string, text: string): void {
  checkCharacters(field, text);
  checkNames(field, text.split("/").slice(0, -1));
}

function decoded(sent: string): string {
  if (BROKEN_ESCAPE.test(sent)) throw invalid("path", "has an invalid escape: write % as %25");
  try {
    return decodeURIComponent(sent);
  } catch {
    throw invalid("path", "must be UTF-8, percent-encoded");
  }
}

function checkNames(field: string, names: readonly string[], mayBeReserved = false): void {
  for (const name of names) {
    checkCharacters(field, name);
    if (name === "")
      throw invalid(field, "must not have empty names: no slash at its beginning or end, and no two in a row");
    if (name === "." || name === "..") throw invalid(field, "must not have . or .. as a name");
    if (!mayBeReserved && unfinishedName.test(name))
      throw invalid(field, "must not have a name that is reserved for temporary files");
  }
}

function checkCharacters(field: string, text: string): void {
  if (/\p{Cc}/u.test(text)) throw invalid(field, "must not contain control characters");
}
