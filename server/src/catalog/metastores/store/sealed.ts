import type { Queryable } from "../../../db/database.ts";
import type { SealedSecrets } from "../metastore-secrets.ts";

/** A sealed value starts with the id of its key, big-endian. */
const NOT_UNDER = "(substring(password from 1 for 4) <> $1 or substring(secret from 1 for 4) <> $1)";

export async function listMetastoresNotUnder(
  system: Queryable,
  keyId: number,
  limit: number,
): Promise<(SealedSecrets & { accountId: number })[]> {
  return system.query(
    `select account_id as "accountId", password, secret from metastore where ${NOT_UNDER} order by account_id limit $2`,
    [prefixOf(keyId), limit],
  );
}

export async function countMetastoresNotUnder(system: Queryable, keyId: number): Promise<number> {
  const [row] = await system.query<{ count: number }>(`select count(*) as count from metastore where ${NOT_UNDER}`, [
    prefixOf(keyId),
  ]);
  return row?.count ?? 0;
}

/** Not over one that was given a new secret meanwhile. */
export async function replaceSealed(
  system: Queryable,
  accountId: number,
  before: SealedSecrets,
  after: SealedSecrets,
): Promise<void> {
  await system.query(
    "update metastore set password = $4, secret = $5 where account_id = $1 and password = $2 and secret = $3",
    [accountId, before.password, before.secret, after.password, after.secret],
  );
}

function prefixOf(keyId: number): Buffer {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(keyId);
  return prefix;
}
