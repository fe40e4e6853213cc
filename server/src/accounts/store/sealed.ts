import type { Queryable, Tx } from "../../db/database.ts";
import type { SealedCredentials } from "../credentials.ts";

/** A sealed value starts with the id of its key, big-endian: compared as bytes, older keys come first. */
const SEALED_BEFORE = `(
  substring(storage_access_key from 1 for 4) < $1 or substring(storage_secret_key from 1 for 4) < $1
  or substring(compute_access_key from 1 for 4) < $1 or substring(compute_secret_key from 1 for 4) < $1)`;

const LOCK_SEALED_BEFORE = `
  select id, storage_access_key as "storageAccessKey", storage_secret_key as "storageSecretKey",
         compute_access_key as "computeAccessKey", compute_secret_key as "computeSecretKey"
    from account where ${SEALED_BEFORE} order by id limit $2 for update skip locked`;
const COUNT_SEALED_BEFORE = `select count(*) as count from account where ${SEALED_BEFORE}`;

/** Accounts with a value under an older key; those that somebody is editing are left for the next time. */
export async function lockSealedBefore(
  tx: Tx,
  keyId: number,
  limit: number,
): Promise<({ id: number } & SealedCredentials)[]> {
  return tx.query(LOCK_SEALED_BEFORE, [prefixOf(keyId), limit]);
}

export async function countSealedBefore(system: Queryable, keyId: number): Promise<number> {
  const [row] = await system.query<{ count: number }>(COUNT_SEALED_BEFORE, [prefixOf(keyId)]);
  return row?.count ?? 0;
}

function prefixOf(keyId: number): Buffer {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(keyId);
  return prefix;
}
