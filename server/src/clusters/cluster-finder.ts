import type { ObjectFinder } from "../access/policy/object-finder.ts";
import { policyObjectOf } from "./cluster-in-path.ts";
import { findCluster, lockCluster } from "./store/cluster.ts";

export const clusterFinder: ObjectFinder = {
  async find(reader, id) {
    const row = await findCluster(reader, { id, name: null });
    return row === undefined ? undefined : policyObjectOf(row);
  },
  lockForPolicy: async (tx, id) => (await lockCluster(tx, id)) !== undefined,
};
