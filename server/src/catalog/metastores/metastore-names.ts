import { createHash } from "node:crypto";

/** PostgreSQL cuts longer names off, and two would become one: an id has 19 digits at most. */
const LONGEST_PREFIX_BYTES = 63 - 19;

/**
 * What the names of all metastore databases of an installation begin with; the account's id follows. Roles and databases
 * belong to the whole server, which may have several installations, each in a database of its own.
 */
export function metastorePrefix(productDatabase: string): string {
  const plain = `${productDatabase}_metastore_`;
  if (Buffer.byteLength(plain) <= LONGEST_PREFIX_BYTES) return plain;
  const digest = createHash("sha256").update(productDatabase).digest("hex").slice(0, 16);
  return `headgate_${digest}_metastore_`;
}

/** Of a database and of the only role that may enter it. */
export function metastoreName(productDatabase: string, accountId: number): string {
  return `${metastorePrefix(productDatabase)}${accountId}`;
}
