import type { Queryable } from "../db/database.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { replySealContext } from "./idempotency.ts";

interface SealedRow {
  ctid: string;
  account_id: number;
  reply: Buffer;
}

/**
 * After a key rotation: seals up to `batch` kept replies anew under the newest key and tells how many were found. A row
 * that moved meanwhile (or expired) is left alone; the next round finds it.
 */
export async function resealReplies(system: Queryable, keys: KeyRing, batch: number): Promise<number> {
  const rows = await system.query<SealedRow>(
    `select ctid::text, account_id, reply from idempotency where substring(reply from 1 for 4) <> $1 limit $2`,
    [keyPrefix(keys.newestId), batch],
  );
  await system.query(
    `update idempotency i set reply = n.sealed
       from unnest($1::text[], $2::bytea[], $3::bytea[]) as n (place, was, sealed)
      where i.ctid = n.place::tid and i.reply = n.was`,
    [
      rows.map(({ ctid }) => ctid),
      rows.map(({ reply }) => reply),
      rows.map(({ account_id: accountId, reply }) => {
        const context = replySealContext(accountId);
        return keys.seal(keys.open(reply, context), context);
      }),
    ],
  );
  return rows.length;
}

/** How many kept replies are sealed with another key than this. */
export async function countRepliesNotUnder(system: Queryable, keyId: number): Promise<number> {
  const [row] = await system.query<{ count: number }>(
    "select count(*) as count from idempotency where substring(reply from 1 for 4) <> $1",
    [keyPrefix(keyId)],
  );
  return row?.count ?? 0;
}

/** A sealed value starts with the id of its key, big-endian. */
function keyPrefix(keyId: number): Buffer {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(keyId);
  return prefix;
}
