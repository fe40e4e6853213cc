import type { Tx } from "../db/database.ts";
import { DEFAULT_LABEL } from "./labels.ts";
import { insertDefaultCluster } from "./store/cluster.ts";

/** Every new account has one cluster, which runs on the nodes themselves. */
export async function addDefaultCluster(tx: Tx, accountId: number): Promise<void> {
  await insertDefaultCluster(tx, accountId, DEFAULT_LABEL);
}
