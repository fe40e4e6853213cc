import { createHash, randomBytes } from "node:crypto";

/** The code of an invitation: `hgi_` and 32 random bytes. Only its SHA-256 is stored. */
const WELL_FORMED = /^hgi_[\w-]{43}$/;
export const MAX_CODE_LENGTH = 100;

export function mintInvitationCode(random: (bytes: number) => Buffer = randomBytes): string {
  return `hgi_${random(32).toString("base64url")}`;
}

/** Refuses invented codes without a query. */
export function isWellFormedCode(code: string): boolean {
  return WELL_FORMED.test(code);
}

export function codeSha256(code: string): Buffer {
  return createHash("sha256").update(code).digest();
}
