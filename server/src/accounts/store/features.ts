import type { Queryable, Tx } from "../../db/database.ts";
import { notFound } from "../../lib/fault.ts";
import type { Feature } from "../../lib/features.ts";

/** Statements for operators: any account, by id. */
export async function readFeatures(system: Queryable, accountId: number): Promise<Feature[]> {
  return only(accountId, await system.query("select features from account where id = $1", [accountId]));
}

/** Locked until the transaction ends: concurrent changes of the whitelist wait and see the new features. */
export async function lockFeatures(tx: Tx, accountId: number): Promise<Feature[]> {
  return only(accountId, await tx.query("select features from account where id = $1 for no key update", [accountId]));
}

function only(accountId: number, rows: { features: Feature[] }[]): Feature[] {
  const [row] = rows;
  if (row === undefined) throw notFound("Account", accountId);
  return row.features;
}

export async function updateFeatures(tx: Tx, accountId: number, features: readonly Feature[]): Promise<void> {
  await tx.query("update account set features = $2, updated_at = now() where id = $1", [accountId, [...features]]);
}

export interface WhitelistCover {
  entries: number;
  covers: boolean;
}

/** The number of entries in the account's whitelist, and whether one covers this address. */
export async function whitelistCover(tx: Tx, accountId: number, address: string | null): Promise<WhitelistCover> {
  const [row] = await tx.query<WhitelistCover>(
    `select count(*) as entries, coalesce(bool_or(ip_cidr >>= $2::inet), false) as covers
       from whitelisted_ip where account_id = $1`,
    [accountId, address],
  );
  return row ?? { entries: 0, covers: false };
}
