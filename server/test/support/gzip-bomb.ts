import { gzipSync } from "node:zlib";

const MEMBER_MIB = 64;

/** Gzip members of zeros, about a thousandth of the size that they expand to. */
export function gzipBomb(expandedMiB: number): Buffer {
  const member = gzipSync(Buffer.alloc(MEMBER_MIB * 1024 * 1024), { level: 9 });
  return Buffer.concat(Array.from({ length: expandedMiB / MEMBER_MIB }, () => member));
}
