/**
 * API tokens: `hg_`, 32 random bytes, a checksum. Secret scanners recognise a leaked token by the prefix, and a
 * mistyped or invented one is refused by the checksum without a query. Only the SHA-256 of a token is stored.
 */
import { createHash, randomBytes } from "node:crypto";
import { crc32 } from "node:zlib";

const PREFIX = "hg_";
const SECRET_LENGTH = 43; // 32 bytes in base64url
const CHECKSUM_LENGTH = 6; // 4 bytes in base64url

export function mintToken(random: (bytes: number) => Buffer = randomBytes): string {
  const secret = random(32).toString("base64url");
  return PREFIX + secret + checksum(secret);
}

export function isWellFormedToken(token: string): boolean {
  if (!token.startsWith(PREFIX) || token.length !== PREFIX.length + SECRET_LENGTH + CHECKSUM_LENGTH) return false;
  const secret = token.slice(PREFIX.length, -CHECKSUM_LENGTH);
  return checksum(secret) === token.slice(-CHECKSUM_LENGTH);
}

export function tokenSha256(token: string): Buffer {
  return createHash("sha256").update(token).digest();
}

function checksum(secret: string): string {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(crc32(secret));
  return bytes.toString("base64url");
}
