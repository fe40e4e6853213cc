import { createHash } from "node:crypto";

/** PostgreSQL truncates longer names, so that two could become one. An id has at most 19 digits. */
const LONGEST_PREFIX_BYTES = 63 - 19;

/**
 * The prefix of all metastore databases of an installation, followed by the account's id. Roles and databases belong to
 * the whole PostgreSQL server, which may have several installations, each in a database of its own.
 */
export function metastorePrefix(productDatabase: string): string {
  const plain = `${productDatabase}_metastore_`;
  if (Buffer.byteLength(plain) <= LONGEST_PREFIX_BYTES) return plain;
  const digest = createHash("sha256").update(productDatabase).digest("hex").slice(0, 16);
  return `headgate_${digest}_metastore_`;
}

/** The name of a metastore's database and of the only role that may connect to it. */
export function metastoreName(productDatabase: string, accountId: number): string {
  return `${metastorePrefix(productDatabase)}${accountId}`;
}
