import { Type, type Static } from "typebox";
import { Id, Nullable, OneOf, Timestamp } from "../http/schema.ts";
import { isoSeconds } from "../lib/clock.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { REFRESH_ENGINES } from "./account-fields.ts";
import { storageLocation } from "./account-storage.ts";
import { shownIdleSeconds } from "./account-settings.ts";
import { shownAccessKey, shownSecretKey } from "./credentials.ts";
import type { AccountRow } from "./store/account.ts";

const masked = Type.String({ description: "Masked; empty if there is none", examples: ["AKIA****WXYZ"] });

const common = {
  id: Id,
  name: Type.String(),
  storage_type: Type.String(),
  compute_type: Type.String(),
  storage_validated: Type.Boolean(),
  compute_validated: Type.Boolean(),
  is_aws_role_enabled: Type.Boolean(),
  idle_session_timeout: Nullable(Type.Integer({ description: "Minutes" })),
  storage_access_key: masked,
  storage_secret_key: masked,
  storage_location: Type.String({ examples: ["s3://example-bucket/headgate"] }),
  authorized_ssh_key: Nullable(Type.String()),
  compute_access_key: masked,
  compute_secret_key: masked,
  plan: Type.String({ examples: ["free"] }),
  storage_endpoint: Nullable(Type.String()),
  role_arn: Type.Optional(Type.String({ description: "Only for accounts with role-based credentials" })),
  external_id: Type.Optional(Type.String({ description: "Only for accounts with role-based credentials" })),
};

/** §2.4. */
export const AccountView = Type.Object(common, { title: "Account" });

/** §2.4, and the fields that §4.12 sets. */
export const AccountViewV2 = Type.Object(
  {
    ...common,
    level: Type.String(),
    CacheQuotaSizeInGB: Type.Integer(),
    aws_region: Nullable(Type.String()),
    idle_cluster_timeout: Type.Integer({ description: "Hours" }),
    idle_cluster_timeout_in_secs: Type.Integer({ description: "Seconds" }),
    hdfs_http_address: Nullable(Type.String()),
    metastore_uri: Nullable(Type.String()),
    refresh_engine: OneOf(REFRESH_ENGINES),
    created_at: Timestamp,
    updated_at: Timestamp,
  },
  { title: "AccountV2" },
);

export function accountView(row: AccountRow, keys: KeyRing, dataDir: string): Static<typeof AccountView> {
  return {
    id: row.id,
    name: row.name,
    storage_type: row.storageType,
    compute_type: row.computeType,
    storage_validated: row.storageValidated,
    compute_validated: row.computeValidated,
    is_aws_role_enabled: row.roleArn !== null,
    idle_session_timeout: row.idleSessionTimeoutMinutes,
    storage_access_key: shownAccessKey(keys, row, "storageAccessKey"),
    storage_secret_key: shownSecretKey(row.storageSecretKey),
    storage_location: storageLocation(row, dataDir),
    authorized_ssh_key: null,
    compute_access_key: shownAccessKey(keys, row, "computeAccessKey"),
    compute_secret_key: shownSecretKey(row.computeSecretKey),
    plan: row.plan,
    storage_endpoint: row.storageEndpoint,
    ...(row.roleArn === null ? {} : { role_arn: row.roleArn }),
    ...(row.externalId === null ? {} : { external_id: row.externalId }),
  };
}

export function accountViewV2(row: AccountRow, keys: KeyRing, dataDir: string): Static<typeof AccountViewV2> {
  return {
    ...accountView(row, keys, dataDir),
    level: row.level,
    CacheQuotaSizeInGB: row.cacheQuotaGb,
    aws_region: row.awsRegion,
    idle_cluster_timeout: row.idleClusterTimeoutHours,
    idle_cluster_timeout_in_secs: shownIdleSeconds(row),
    hdfs_http_address: row.hdfsHttpAddress,
    metastore_uri: row.metastoreUri,
    refresh_engine: row.refreshEngine,
    created_at: isoSeconds(row.createdAt),
    updated_at: isoSeconds(row.updatedAt),
  };
}
