import { operation } from "../access/operation.ts";
import { notFound } from "../lib/fault.ts";
import { Cluster, clusterObject } from "./cluster.ts";
import { NewClusterBody } from "./cluster-fields.ts";
import { CLONE_FORMS } from "./cluster-forms.ts";
import { clusterInPath, ClusterParams } from "./cluster-in-path.ts";
import type { ClusterServices } from "./cluster-services.ts";
import { mergedSettings } from "./cluster-settings.ts";
import { sealedToken, tokenSealer } from "./cluster-token.ts";
import { checkClusterCount, MAY_CREATE, readCluster, setLabels } from "./cluster-changes.ts";
import { checkCatalogNames } from "./table-formats.ts";
import { checkLabels } from "./labels.ts";
import { insertCluster, lockCluster } from "./store/cluster.ts";

export const cloneCluster = operation({
  id: "cluster_clone",
  summary: "Clone a cluster",
  description:
    "Creates a cluster with the settings of this one, including its token, except for those in the body. Needs the " +
    "permission to create clusters; the policy of the original must not deny read.",
  tag: "Clusters",
  method: "POST",
  paths: { "v1.2": "/clusters/:cluster_id/clone", v2: "/clusters/:cluster_id/clone" },
  access: {
    permission: MAY_CREATE,
    authorises: ["cluster"],
  },
  params: ClusterParams,
  body: NewClusterBody,
  example: { params: { cluster_id: "default" }, body: { labels: ["nightly"] } },
  reply: Cluster,
  forms: CLONE_FORMS,
  async find(request) {
    const found = await clusterInPath(request);
    // The permission to create suffices for reading the original, unless its policy denies that.
    await request.authorise(found.policyObject, "read", MAY_CREATE);
    return found;
  },

  async handle(
    { found, params, body, caller, change },
    { keys, clusterRules, hasSchema }: Pick<ClusterServices, "keys" | "clusterRules" | "hasSchema">,
  ) {
    const labels = checkLabels(body.labels);
    await checkCatalogNames(body.table_formats ?? found.tableFormats, caller.accountId, hasSchema);
    return change(async (tx, audit) => {
      const original = await lockCluster(tx, found.id);
      if (original === undefined) throw notFound("Cluster", params.cluster_id);
      const settings = mergedSettings(body, original, { ...clusterRules, caller });
      const token = sealedToken(body.engine, settings.engine, original, tokenSealer(keys, caller.accountId));
      const id = await insertCluster(tx, caller.membershipId, settings, token);
      await checkClusterCount(tx);
      await setLabels(tx, id, labels);
      audit.object = `cluster/${id}`;
      return clusterObject(await readCluster(tx, id));
    });
  },
});
