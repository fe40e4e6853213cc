import { invalid } from "../lib/fault.ts";
import type { Feature } from "../lib/features.ts";
import { checkHttpAddress, checkLocation, checkMetastoreUri } from "./account-address.ts";
import { MIN_IDLE_SECONDS, type AccountInput } from "./account-fields.ts";
import type { RefreshEngine } from "./contract.ts";

/** What an account has set, apart from its name and its keys. */
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
  /** Null: the hours count. */
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
  /** Refuses a field whose feature the account does not have. */
  requireFeature: (feature: Feature, field: string) => void;
  allowedNetworks: readonly string[];
}

/** The settings of a new account. */
export function newSettings(input: AccountInput, rules: SettingRules): AccountSettings {
  return { ...merged(input, DEFAULT_SETTINGS, rules), ...newTimeouts(input, DEFAULT_SETTINGS, rules) };
}

/** The settings after an edit: what is absent stays, and what a client sends back as it was shown changes nothing. */
export function editedSettings(input: AccountInput, current: AccountSettings, rules: SettingRules): AccountSettings {
  // The view has both: seconds alone are meant, also when they say what the hours do.
  const isAsShown =
    input.idle_cluster_timeout !== undefined && input.idle_cluster_timeout_in_secs === shownIdleSeconds(current);
  const timeouts = isAsShown
    ? { idleClusterTimeoutHours: input.idle_cluster_timeout ?? current.idleClusterTimeoutHours }
    : newTimeouts(input, current, rules);
  return { ...merged(input, current, rules), ...timeouts };
}

/** The seconds after which an idle cluster ends, whichever of the two settings says so. */
export function shownIdleSeconds(settings: AccountSettings): number {
  return settings.idleClusterTimeoutSeconds ?? settings.idleClusterTimeoutHours * 3600;
}

export function checkAccountName(name: string): string {
  if (name.trim() === "") throw invalid("name", "must not be empty");
  if (/\p{Cc}/u.test(name)) throw invalid("name", "must not contain control characters");
  return name;
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

/** The last word counts: hours given without seconds put the hours in force again. */
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

/** Null means absent on this interface, so an empty text is what takes a value away. */
function textOr(current: string | null, given: string | undefined, check: (text: string) => string): string | null {
  if (given === undefined) return current;
  return given === "" ? null : check(given);
}
