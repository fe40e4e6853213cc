import { invalid } from "../lib/fault.ts";
import type { Feature } from "../lib/features.ts";
import { checkHttpAddress, checkLocation, checkMetastoreUri } from "./account-address.ts";
import { MIN_IDLE_SECONDS, type AccountInput } from "./account-fields.ts";
import type { RefreshEngine } from "./contract.ts";

/** The settings of an account, except its name and its keys. */
export interface AccountSettings {
  cacheQuotaGb: number;
  /** Null: a folder in the data directory. */
  defaultLocation: string | null;
  /** Null: the deployment's, or the provider's by region. */
  storageEndpoint: string | null;
  hdfsHttpAddress: string | null;
  metastoreUri: string | null;
  refreshEngine: RefreshEngine;
  awsRegion: string | null;
  idleClusterTimeoutHours: number;
  /** Null: the hours apply. */
  idleClusterTimeoutSeconds: number | null;
  idleSessionTimeoutMinutes: number;
}

/** §8. */
export const DEFAULT_SETTINGS: AccountSettings = {
  cacheQuotaGb: 25,
  defaultLocation: null,
  storageEndpoint: null,
  hdfsHttpAddress: null,
  metastoreUri: null,
  refreshEngine: "native",
  awsRegion: null,
  idleClusterTimeoutHours: 2,
  idleClusterTimeoutSeconds: null,
  idleSessionTimeoutMinutes: 1440,
};

export interface SettingRules {
  /** Refuses a field if the account lacks its feature. */
  requireFeature: (feature: Feature, field: string) => void;
  allowedNetworks: readonly string[];
}

/** The settings of a new account. */
export function newSettings(input: AccountInput, rules: SettingRules): AccountSettings {
  return { ...merged(input, DEFAULT_SETTINGS, rules), ...newTimeouts(input, DEFAULT_SETTINGS, rules) };
}

/** The settings after an edit: absent fields are unchanged, and a client that sends back the view changes nothing. */
export function editedSettings(input: AccountInput, current: AccountSettings, rules: SettingRules): AccountSettings {
  // The view has both fields. Seconds alone are a new value, even if they equal the hours.
  const isAsShown =
    input.idle_cluster_timeout !== undefined && input.idle_cluster_timeout_in_secs === shownIdleSeconds(current);
  const timeouts = isAsShown
    ? { idleClusterTimeoutHours: input.idle_cluster_timeout ?? current.idleClusterTimeoutHours }
    : newTimeouts(input, current, rules);
  return { ...merged(input, current, rules), ...timeouts };
}

/** The seconds after which an idle cluster ends, from whichever of the two settings applies. */
export function shownIdleSeconds(settings: AccountSettings): number {
  return settings.idleClusterTimeoutSeconds ?? settings.idleClusterTimeoutHours * 3600;
}

function merged(input: AccountInput, current: AccountSettings, { allowedNetworks }: SettingRules): AccountSettings {
  return {
    ...current,
    cacheQuotaGb: input.CacheQuotaSizeInGB ?? current.cacheQuotaGb,
    defaultLocation: textOr(current.defaultLocation, input.defloc, (text) => checkLocation(text, allowedNetworks)),
    storageEndpoint: textOr(current.storageEndpoint, input.storage_endpoint, (text) =>
      checkHttpAddress("storage_endpoint", text, allowedNetworks),
    ),
    hdfsHttpAddress: textOr(current.hdfsHttpAddress, input.hdfs_http_address, (text) =>
      checkHttpAddress("hdfs_http_address", text, allowedNetworks),
    ),
    metastoreUri: textOr(current.metastoreUri, input.metastore_uri, (text) => checkMetastoreUri(text, allowedNetworks)),
    refreshEngine: input.refresh_engine ?? current.refreshEngine,
    awsRegion: input.aws_region ?? current.awsRegion,
    idleSessionTimeoutMinutes: input.idle_session_timeout ?? current.idleSessionTimeoutMinutes,
  };
}

/** The latest setting applies: hours without seconds make the hours apply again. */
function newTimeouts(input: AccountInput, current: AccountSettings, { requireFeature }: SettingRules) {
  const { idle_cluster_timeout: hours, idle_cluster_timeout_in_secs: seconds } = input;
  if (seconds !== undefined) {
    if (seconds < MIN_IDLE_SECONDS)
      throw invalid("idle_cluster_timeout_in_secs", `must be at least ${MIN_IDLE_SECONDS}`);
    requireFeature("aggressive_downscaling", "idle_cluster_timeout_in_secs");
  }
  return {
    idleClusterTimeoutHours: hours ?? current.idleClusterTimeoutHours,
    idleClusterTimeoutSeconds: seconds ?? (hours === undefined ? current.idleClusterTimeoutSeconds : null),
  };
}

/** Null means absent in this API, so an empty text removes a value. */
function textOr(current: string | null, given: string | undefined, check: (text: string) => string): string | null {
  if (given === undefined) return current;
  return given === "" ? null : check(given);
}
