/**
 * The errors that a metastore returns, as far as callers distinguish them:
 *
 * | Kind | Means |
 * |---|---|
 * | `no-such-object` | the database, table or partition does not exist |
 * | `already-exists` | it exists already |
 * | `invalid-object` | the given object cannot be stored |
 * | `invalid-operation` | the operation is not possible on this object |
 * | `unknown-function` | the server is a metastore older than 2.3 or newer than 4, or not a metastore |
 * | `failed` | anything else; see the message |
 */
export type HiveErrorKind = DeclaredErrorKind | "unknown-function";

/** The kinds that functions declare as exceptions. */
export type DeclaredErrorKind = "no-such-object" | "already-exists" | "invalid-object" | "invalid-operation" | "failed";

const maxTextLength = 2000;

/** The message quotes the metastore, so it must be shown only to users who may read that metastore. */
export class HiveError extends Error {
  override readonly name = "HiveError";
  readonly kind: HiveErrorKind;

  constructor(kind: HiveErrorKind, functionName: string, text: string) {
    const words = text.slice(0, maxTextLength);
    super(`${functionName}: ${words === "" ? kind : words}`);
    this.kind = kind;
  }
}
