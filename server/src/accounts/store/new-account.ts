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

/** If the whitelist is enforced from the start, it contains the creator's address. */
export function sendFirstWhitelistedIp(tx: Tx, accountId: number, address: string): void {
  tx.send("insert into whitelisted_ip (account_id, ip_cidr, given_text) values ($1, $2::text::cidr, $2)", [
    accountId,
    address,
  ]);
}

export interface FirstAdmin {
  accountId: number;
  adminGroupId: number;
  email: string;
  name: string;
  isOperator: boolean;
  tokenSha256: Buffer;
}

/** Inserts the user (or finds it by e-mail address), an active membership, its place among the admins and its token. */
export async function insertFirstAdmin(tx: Tx, admin: FirstAdmin): Promise<number> {
  const [row] = await tx.query<{ user_id: number }>(
    `with found_user as (
       insert into app_user (email) values ($1)
       on conflict (lower(email)) do update set email = app_user.email returning id),
     new_membership as (
       insert into membership (account_id, user_id, name, state, is_operator)
       select $3, id, $2, 'active', $4 from found_user returning id, user_id),
     new_member as (
       insert into access_group_member (account_id, group_id, membership_id)
       select $3, $5, id from new_membership),
     new_token as (
       insert into api_token (account_id, membership_id, sha256) select $3, id, $6 from new_membership)
     select user_id from new_membership`,
    [admin.email, admin.name, admin.accountId, admin.isOperator, admin.adminGroupId, admin.tokenSha256],
  );
  if (row === undefined) throw new Error("an insert returned no row");
  return row.user_id;
}

/** Whether any account exists. Takes a lock: of two concurrent first starts, one creates the first account. */
export async function lockAndHasAccounts(tx: Tx): Promise<boolean> {
  await tx.query("lock table account in share row exclusive mode");
  const [row] = await tx.query<{ there: boolean }>("select exists (select from account) as there");
  return row?.there ?? false;
}
