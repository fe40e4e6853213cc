import type { Queryable, Tx } from "../../db/database.ts";

/** A sealed value starts with the id of its key, big-endian. Few clusters have one, and those have an index. */
const NOT_UNDER = "token is not null and substring(token from 1 for 4) <> $1";

/** Those that somebody is editing are left for the next time. */
export async function lockTokensNotUnder(
  tx: Tx,
  keyId: number,
  limit: number,
): Promise<{ id: number; accountId: number; token: Buffer }[]> {
  return tx.query(
    `select id, account_id as "accountId", token from cluster where ${NOT_UNDER}
      order by id limit $2 for update skip locked`,
    [prefixOf(keyId), limit],
  );
}

export async function countTokensNotUnder(system: Queryable, keyId: number): Promise<number> {
  const [row] = await system.query<{ count: number }>(`select count(*) as count from cluster where ${NOT_UNDER}`, [
    prefixOf(keyId),
  ]);
  return row?.count ?? 0;
}

export function sendToken(tx: Tx, id: number, token: Buffer): void {
  tx.send("update cluster set token = $2 where id = $1", [id, token]);
}

function prefixOf(keyId: number): Buffer {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(keyId);
  return prefix;
}
