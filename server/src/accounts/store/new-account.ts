import type { Tx } from "../../db/database.ts";
import { notFound } from "../../lib/fault.ts";
import type { Feature } from "../../lib/features.ts";
import { DEFAULT_SETTINGS, type AccountSettings } from "../account-settings.ts";
import type { SealedCredentials } from "../credentials.ts";

export interface NewAccount {
  name: string;
  parentId: number | null;
  plan: string;
  settings?: AccountSettings;
}

export async function insertAccount(tx: Tx, account: NewAccount, features: readonly Feature[]): Promise<number> {
  const settings = account.settings ?? DEFAULT_SETTINGS;
  const [row] = await tx.query<{ id: number }>(
    `insert into account (name, parent_id, plan, features, cache_quota_gb, default_location, storage_endpoint,
       hdfs_http_address, metastore_uri, refresh_engine, aws_region, idle_cluster_timeout_hours,
       idle_cluster_timeout_seconds, idle_session_timeout_minutes)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) returning id`,
    [
      account.name,
      account.parentId,
      account.plan,
      [...features],
      settings.cacheQuotaGb,
      settings.defaultLocation,
      settings.storageEndpoint,
      settings.hdfsHttpAddress,
      settings.metastoreUri,
      settings.refreshEngine,
      settings.awsRegion,
      settings.idleClusterTimeoutHours,
      settings.idleClusterTimeoutSeconds,
      settings.idleSessionTimeoutMinutes,
    ],
  );
  if (row === undefined) throw new Error("an insert returned no row");
  return row.id;
}

/** Keys are sealed for their account's id, so they are stored after the account has one. */
export function sendCredentials(tx: Tx, accountId: number, sealed: SealedCredentials): void {
  tx.send(
    `update account set storage_access_key = $2, storage_secret_key = $3, compute_access_key = $4,
       compute_secret_key = $5 where id = $1`,
    [accountId, sealed.storageAccessKey, sealed.storageSecretKey, sealed.computeAccessKey, sealed.computeSecretKey],
  );
}

export async function planOf(tx: Tx, accountId: number): Promise<string> {
  const [row] = await tx.query<{ plan: string }>("select plan from account where id = $1", [accountId]);
  if (row === undefined) throw notFound("Account", accountId);
  return row.plan;
}

/**
 * Counts the accounts that the user has created: those with the user as first member. Locks the user until the
 * transaction ends, so that concurrent creations are counted one after the other.
 */
export async function lockAndCountCreated(tx: Tx, userId: number): Promise<number> {
  await tx.query("select from app_user where id = $1 for no key update", [userId]);
  const [row] = await tx.query<{ accounts: number }>(
    `select count(*) as accounts from membership own
      where own.user_id = $1
        and not exists (select from membership other where other.account_id = own.account_id and other.id < own.id)`,
    [userId],
  );
  return row?.accounts ?? 0;
}

/** Whether the installation has a user with this e-mail address. */
export async function isUser(tx: Tx, email: string): Promise<boolean> {
  return (await tx.query("select from app_user where lower(email) = lower($1)", [email])).length > 0;
}

/** Whether any account exists. Takes a lock: of two concurrent first starts, one creates the first account. */
export async function lockAndHasAccounts(tx: Tx): Promise<boolean> {
  await tx.query("lock table account in share row exclusive mode");
  const [row] = await tx.query<{ there: boolean }>("select exists (select from account) as there");
  return row?.there ?? false;
}
