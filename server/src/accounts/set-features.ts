import type { Tx } from "../db/database.ts";
import { invalid } from "../lib/fault.ts";
import { features, isFeature, type Feature } from "../lib/features.ts";
import { lockFeatures, updateFeatures, whitelistCover } from "./store/features.ts";

export type FeatureSwitches = Record<Feature, boolean>;

/** The caller, if it is a user whose address could be locked out. */
export interface SwitchedFrom {
  accountId: number;
  address: string;
}

/** Enables or disables features of an account; others are unchanged. For the API and the operator's commands. */
export async function setFeatures(
  tx: Tx,
  accountId: number,
  changes: Readonly<Record<string, boolean>>,
  from: SwitchedFrom | null,
): Promise<FeatureSwitches> {
  const unknown = Object.keys(changes).filter((name) => !isFeature(name));
  if (unknown.length > 0) throw invalid("features", `must contain only ${features.join(", ")}`);
  const switches = { ...featureSwitches(await lockFeatures(tx, accountId)), ...changes };
  if (changes.ip_whitelisting === true) await refuseLockOut(tx, accountId, from);
  await updateFeatures(
    tx,
    accountId,
    features.filter((name) => switches[name]),
  );
  return switches;
}

export function featureSwitches(on: readonly Feature[]): FeatureSwitches {
  return {
    ip_whitelisting: on.includes("ip_whitelisting"),
    aggressive_downscaling: on.includes("aggressive_downscaling"),
    data_store_catalogs: on.includes("data_store_catalogs"),
    large_scripts: on.includes("large_scripts"),
    large_inline_content: on.includes("large_inline_content"),
    script_macros: on.includes("script_macros"),
    closed_clusters: on.includes("closed_clusters"),
  };
}

async function refuseLockOut(tx: Tx, accountId: number, from: SwitchedFrom | null): Promise<void> {
  const address = from?.accountId === accountId ? from.address : null;
  const { entries, covers } = await whitelistCover(tx, accountId, address);
  if (entries === 0) {
    throw invalid(
      "ip_whitelisting",
      "must not be enabled while the account's whitelist is empty, because all users would be locked out: add an address first",
    );
  }
  if (address !== null && !covers) {
    throw invalid(
      "ip_whitelisting",
      `must not be enabled while no entry of the whitelist covers your own address ${address}, or you would be locked out`,
    );
  }
}
