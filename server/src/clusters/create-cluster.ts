import { operation } from "../access/operation.ts";
import type { Tx } from "../db/database.ts";
import { invalid } from "../lib/fault.ts";
import { Cluster, clusterObject } from "./cluster.ts";
import { NewClusterBody } from "./cluster-fields.ts";
import { CREATE_FORMS } from "./cluster-forms.ts";
import { policyObjectOf } from "./cluster-in-path.ts";
import type { ClusterServices } from "./cluster-services.ts";
import { mergedSettings, NEW_CLUSTER } from "./cluster-settings.ts";
import { sealedToken, tokenSealer, type StoredToken } from "./cluster-token.ts";
import { checkClusterCount, MAY_CREATE, readCluster, setLabels } from "./cluster-changes.ts";
import { checkCatalogNames } from "./table-formats.ts";
import { checkLabels, DEFAULT_LABEL } from "./labels.ts";
import { findCluster, insertCluster, lockCluster } from "./store/cluster.ts";

/** The new cluster is started only by a request or by its first command. */
export const createCluster = operation({
  id: "cluster_create",
  summary: "Create a cluster",
  tag: "Clusters",
  method: "POST",
  paths: { "v1.2": "/clusters", v2: "/clusters" },
  access: { permission: MAY_CREATE, authorises: ["cluster"] },
  body: NewClusterBody,
  example: { body: { labels: ["etl"], engine: { type: "local" }, max_concurrent_commands: 4 } },
  reply: Cluster,
  forms: CREATE_FORMS,

  async handle(
    { body, caller, change, reader, authorise },
    { keys, clusterRules, hasSchema }: Pick<ClusterServices, "keys" | "clusterRules" | "hasSchema">,
  ) {
    const labels = checkLabels(body.labels);
    const model = body.engine === undefined ? await findCluster(reader, { id: null, name: DEFAULT_LABEL }) : undefined;
    // The new cluster uses the token of the default cluster, as a clone does.
    if (model !== undefined) await authorise(policyObjectOf(model), "read", MAY_CREATE);
    await checkCatalogNames(body.table_formats, caller.accountId, hasSchema);
    return change(async (tx, audit) => {
      const base = body.engine === undefined ? await engineOf(tx, model?.id) : { ...NEW_CLUSTER, token: null };
      const settings = mergedSettings(body, { ...NEW_CLUSTER, engine: base.engine }, { ...clusterRules, caller });
      const token = sealedToken(body.engine, settings.engine, base, tokenSealer(keys, caller.accountId));
      const id = await insertCluster(tx, caller.membershipId, settings, token);
      await checkClusterCount(tx);
      await setLabels(tx, id, labels);
      audit.object = `cluster/${id}`;
      return clusterObject(await readCluster(tx, id));
    });
  },
});

async function engineOf(tx: Tx, clusterId: number | undefined): Promise<StoredToken> {
  const cluster = clusterId === undefined ? undefined : await lockCluster(tx, clusterId);
  if (cluster === undefined)
    throw invalid("engine", `is required: there is no cluster ${DEFAULT_LABEL} to take it from`);
  return cluster;
}
