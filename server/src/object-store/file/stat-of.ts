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
export function fileStat({ size, mtime, ino, mtimeNs }: BigIntStats): ObjectStat {
  const etag = [ino, mtimeNs, size].map((part) => part.toString(36)).join("-");
  return { size: Number(size), modifiedAt: mtime, etag };
}
