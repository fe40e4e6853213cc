import type { Queryable, Tx } from "../../db/database.ts";
import { Fault } from "../../lib/fault.ts";
import type { AccountSettings } from "../account-settings.ts";
import type { SealedCredentials } from "../credentials.ts";

export interface AccountRow extends AccountSettings, SealedCredentials {
  id: number;
  parentId: number | null;
  name: string;
  plan: string;
  level: string;
  computeType: string;
  storageType: string;
  storageValidated: boolean;
  computeValidated: boolean;
  roleArn: string | null;
  externalId: string | null;
  createdAt: Date;
  updatedAt: Date;
}

const COLUMNS = `
  id, parent_id as "parentId", name, plan, level, compute_type as "computeType", storage_type as "storageType",
  cache_quota_gb as "cacheQuotaGb", default_location as "defaultLocation", storage_endpoint as "storageEndpoint",
  hdfs_http_address as "hdfsHttpAddress", metastore_uri as "metastoreUri", refresh_engine as "refreshEngine",
  aws_region as "awsRegion", idle_cluster_timeout_hours as "idleClusterTimeoutHours",
  idle_cluster_timeout_seconds as "idleClusterTimeoutSeconds",
  idle_session_timeout_minutes as "idleSessionTimeoutMinutes",
  storage_access_key as "storageAccessKey", storage_secret_key as "storageSecretKey",
  compute_access_key as "computeAccessKey", compute_secret_key as "computeSecretKey",
  storage_validated as "storageValidated", compute_validated as "computeValidated",
  role_arn as "roleArn", external_id as "externalId", created_at as "createdAt", updated_at as "updatedAt"`;

const READ_ACCOUNT = `select ${COLUMNS} from account where id = current_account_id()`;
const LOCK_ACCOUNT = `select ${COLUMNS} from account where id = current_account_id() for no key update`;
const UPDATE_ACCOUNT = `
  update account set
    name = $1, cache_quota_gb = $2, default_location = $3, storage_endpoint = $4, hdfs_http_address = $5,
    metastore_uri = $6, refresh_engine = $7, aws_region = $8, idle_cluster_timeout_hours = $9,
    idle_cluster_timeout_seconds = $10, idle_session_timeout_minutes = $11, storage_access_key = $12,
    storage_secret_key = $13, compute_access_key = $14, compute_secret_key = $15, storage_validated = $16,
    compute_validated = $17, updated_at = now()
  where id = current_account_id()
  returning ${COLUMNS}`;

/** The caller's account; only in the context of an account. */
export async function readAccount(reader: Queryable): Promise<AccountRow> {
  return only(await reader.query<AccountRow>(READ_ACCOUNT));
}

/** Like `readAccount`, locked until the transaction ends. */
export async function lockAccount(tx: Tx): Promise<AccountRow> {
  return only(await tx.query<AccountRow>(LOCK_ACCOUNT));
}

/** Stores the edited account of the caller. */
export async function updateAccount(tx: Tx, account: AccountRow): Promise<AccountRow> {
  return only(
    await tx.query<AccountRow>(UPDATE_ACCOUNT, [
      account.name,
      account.cacheQuotaGb,
      account.defaultLocation,
      account.storageEndpoint,
      account.hdfsHttpAddress,
      account.metastoreUri,
      account.refreshEngine,
      account.awsRegion,
      account.idleClusterTimeoutHours,
      account.idleClusterTimeoutSeconds,
      account.idleSessionTimeoutMinutes,
      account.storageAccessKey,
      account.storageSecretKey,
      account.computeAccessKey,
      account.computeSecretKey,
      account.storageValidated,
      account.computeValidated,
    ]),
  );
}

/** Does nothing if the keys were changed after the account was read. */
export async function markStorageValidated(system: Queryable, account: AccountRow): Promise<void> {
  if (account.storageValidated) return;
  await system.query(
    `update account set storage_validated = true
      where id = $1 and not storage_validated and storage_access_key = $2 and storage_secret_key = $3`,
    [account.id, account.storageAccessKey, account.storageSecretKey],
  );
}

/** An account may be deleted between a caller's admission and this statement. */
function only(rows: AccountRow[]): AccountRow {
  const [row] = rows;
  if (row === undefined) throw new Fault("not-found", "The account does not exist any more.");
  return row;
}
