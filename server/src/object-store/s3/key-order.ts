/**
 * The orders in which stores list keys: by bytes, as S3 does, or folder by folder, as stores do that hold objects in a tree.
 * The orders differ only where one key has a slash and the other a character that sorts before it.
 */
import { compareUtf8 } from "../../lib/compare-utf8.ts";

export type KeyOrder = (one: string, other: string) => number;

export const byBytes: KeyOrder = compareUtf8;

export const byFolders: KeyOrder = (one, other) => compareUtf8(one.replaceAll("/", "\0"), other.replaceAll("/", "\0"));

/** In both orders. */
export function isAfter(key: string, other: string): boolean {
  return byBytes(key, other) > 0 && byFolders(key, other) > 0;
}

/** Whether the orders disagree about two keys. */
export function isAmbiguous(key: string, other: string): boolean {
  return byBytes(key, other) > 0 !== byFolders(key, other) > 0;
}

/** A listing that contradicts both orders. The message is one line. */
export class ListingError extends Error {}

/**
 * Throws if a page has a key that does not come after the last key of the previous page: a page that comes twice would be
 * listed twice. `last`: empty for the first page.
 */
export function checkFollows(keys: readonly { readonly key: string }[], last: string): void {
  if (last === "") return;
  // `>` compares UTF-16, as some stores in Java do. It is by far the fastest, and nearly always enough.
  const isFollowing = ({ key }: { readonly key: string }): boolean =>
    key > last || byBytes(key, last) > 0 || byFolders(key, last) > 0;
  if (keys.every(isFollowing)) return;
  throw new ListingError("a page repeats keys of an earlier page, or the store does not list keys in order");
}
