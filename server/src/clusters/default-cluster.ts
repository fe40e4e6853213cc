import type { Tx } from "../db/database.ts";
import { insertCluster } from "./store.ts";

/** A command without a label runs on the cluster that has this one. */
export const DEFAULT_LABEL = "default";

/** Every new account has one cluster: this machine. */
export async function addDefaultCluster(tx: Tx, accountId: number): Promise<void> {
  await insertCluster(tx, { accountId, engine: { type: "local" }, labels: [DEFAULT_LABEL] });
}
