/**
 * What a metastore says of a call, as far as a caller acts on it:
 *
 * | Kind | Means |
 * |---|---|
 * | `no-such-object` | the database, table or partition is not there |
 * | `already-exists` | it is there already |
 * | `invalid-object` | what was given cannot be stored |
 * | `invalid-operation` | not on this object |
 * | `unknown-function` | the metastore is older than 2.3, newer than we know, or none |
 * | `failed` | anything else; its own words say what |
 */
export type HiveErrorKind = DeclaredErrorKind | "unknown-function";

/** Those that functions declare. */
export type DeclaredErrorKind = "no-such-object" | "already-exists" | "invalid-object" | "invalid-operation" | "failed";

const longestText = 2000;

/** The message holds the metastore's own words: for whoever may read that metastore, and for nobody else. */
export class HiveError extends Error {
  override readonly name = "HiveError";
  readonly kind: HiveErrorKind;

  constructor(kind: HiveErrorKind, functionName: string, text: string) {
    const words = text.slice(0, longestText);
    super(`${functionName}: ${words === "" ? kind : words}`);
    this.kind = kind;
  }
}
