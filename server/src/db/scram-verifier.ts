import { createHash, createHmac, pbkdf2Sync, randomBytes } from "node:crypto";
import type { Secret } from "../lib/secret.ts";

const ITERATIONS = 4096;

/**
 * The verifier that PostgreSQL stores for a password (RFC 5803). It replaces the password in `create role … password`,
 * because that statement may be logged. For ASCII passwords only.
 */
export function scramVerifier(password: Secret, salt = randomBytes(16)): string {
  const salted = pbkdf2Sync(password.reveal(), salt, ITERATIONS, 32, "sha256");
  const keyed = (text: string): Buffer => createHmac("sha256", salted).update(text).digest();
  const storedKey = createHash("sha256").update(keyed("Client Key")).digest("base64");
  const serverKey = keyed("Server Key").toString("base64");
  return `SCRAM-SHA-256$${ITERATIONS}:${salt.toString("base64")}$${storedKey}:${serverKey}`;
}
