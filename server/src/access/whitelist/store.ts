import type { Queryable, Tx } from "../../db/database.ts";
import type { WhitelistEntry } from "./ip-address.ts";

export interface WhitelistedIpRow {
  id: number;
  account_id: number;
  given_text: string;
  created_at: Date;
  updated_at: Date;
}

export async function insertWhitelistedIp(tx: Tx, accountId: number, entry: WhitelistEntry): Promise<void> {
  await tx.query(
    `insert into whitelisted_ip (account_id, ip_cidr, given_text) values ($1, $2, $3)
     on conflict on constraint whitelisted_ip_once do nothing`,
    [accountId, entry.cidr, entry.givenText],
  );
}

export async function listWhitelistedIps(reader: Queryable): Promise<WhitelistedIpRow[]> {
  return reader.query("select id, account_id, given_text, created_at, updated_at from whitelisted_ip order by id");
}

/** Which of these ids the account has. */
export async function findWhitelistedIps(reader: Queryable, ids: readonly number[]): Promise<number[]> {
  const rows = await reader.query<{ id: number }>("select id from whitelisted_ip where id = any ($1)", [ids]);
  return rows.map(({ id }) => id);
}

/** Returns the ids that it has deleted. */
export async function deleteWhitelistedIps(tx: Tx, ids: readonly number[]): Promise<number[]> {
  const rows = await tx.query<{ id: number }>("delete from whitelisted_ip where id = any ($1) returning id", [ids]);
  return rows.map(({ id }) => id);
}

/**
 * Whether the whitelist allows this address; null while it is not enforced. The account is locked in a separate
 * statement, because a statement that waits for a lock reads the state from before the wait: concurrent changes must
 * see each other.
 */
export async function isListedIfEnforced(tx: Tx, address: string): Promise<boolean | null> {
  tx.send("select from account for no key update");
  const [row] = await tx.query<{ listed: boolean | null }>(
    `select case when 'ip_whitelisting' = any (a.features)
                 then exists (select from whitelisted_ip w where w.ip_cidr >>= $1::inet) end as listed
       from account a`,
    [address],
  );
  return row?.listed ?? null;
}
