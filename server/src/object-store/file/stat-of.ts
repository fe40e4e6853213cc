import type { BigIntStats } from "node:fs";
import type { ObjectStat } from "../object-store.ts";
import { ObjectStoreError } from "../object-store-error.ts";

/** Throws unless it is a regular file. */
export function statOf(stats: BigIntStats, { subject }: { readonly subject: string }): ObjectStat {
  if (stats.isSymbolicLink()) throw new ObjectStoreError("denied", `${subject}: symbolic links are not followed`);
  if (stats.isDirectory()) throw new ObjectStoreError("missing", `${subject}: a folder, not a file`);
  if (!stats.isFile()) throw new ObjectStoreError("denied", `${subject}: not a regular file`);
  return fileStat(stats);
}

/** A replaced file has another inode, a changed one another time or size. */
export function fileStat({ size, ino, mtimeNs }: BigIntStats): ObjectStat {
  const etag = [ino, mtimeNs, size].map((part) => part.toString(36)).join("-");
  return { size: Number(size), modifiedAt: shownTime(mtimeNs), etag };
}

const MIN_TIME = Date.UTC(1900, 0, 1);
const MAX_TIME = Date.UTC(9999, 11, 31);

/** Programs can give a file any time, also one that is no `Date`. */
function shownTime(ns: bigint): Date {
  return new Date(Math.min(Math.max(Number(ns / 1_000_000n), MIN_TIME), MAX_TIME));
}
