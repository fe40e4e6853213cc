import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import type { Tx } from "../db/database.ts";
import { notFound, invalid } from "../lib/fault.ts";
import { Cluster, clusterObject } from "./cluster.ts";
import { EditBody } from "./cluster-fields.ts";
import { EDIT_FORMS } from "./cluster-forms.ts";
import { clusterInPath, ClusterParams } from "./cluster-in-path.ts";
import type { ClusterServices } from "./cluster-services.ts";
import { mergedSettings } from "./cluster-settings.ts";
import { sealedToken, tokenSealer } from "./cluster-token.ts";
import { isSameEngine, type ClusterEngine } from "./engine.ts";
import { readCluster, setLabels } from "./cluster-changes.ts";
import { checkKeepsDefault, checkLabels } from "./labels.ts";
import { lockCluster, updateCluster, type ClusterRow } from "./store/cluster.ts";
import { checkCatalogNames } from "./table-formats.ts";
import { hasUnfinished, lockClaims } from "./store/commands.ts";

export const editCluster = operation({
  id: "cluster_edit",
  summary: "Edit a cluster",
  description:
    "Absent fields keep their value; labels, spark_config and pools are replaced as a whole. Sending back the cluster as " +
    "it was read changes nothing. To change the engine, the cluster must be DOWN and have no waiting command. " +
    "Refused if read on the cluster is denied, because the reply shows it.",
  tag: "Clusters",
  method: "PUT",
  paths: { "v1.2": "/clusters/:cluster_id", v2: "/clusters/:cluster_id" },
  access: {
    permission: OBJECT_PERMISSIONS.cluster.update,
    object: { type: "cluster", action: "update" },
  },
  params: ClusterParams,
  body: EditBody,
  example: { params: { cluster_id: "default" }, body: { max_concurrent_commands: 4 } },
  reply: Cluster,
  forms: EDIT_FORMS,
  find: clusterInPath,

  async handle(
    { found, params, body, caller, change },
    { keys, clusterRules, hasSchema }: Pick<ClusterServices, "keys" | "clusterRules" | "hasSchema">,
  ) {
    const labels = body.labels === undefined ? undefined : checkLabels(body.labels);
    await checkCatalogNames(
      found.tableFormats.includes("iceberg") ? [] : body.table_formats,
      caller.accountId,
      hasSchema,
    );
    return change(async (tx, audit) => {
      lockClaims(tx);
      const current = await lockCluster(tx, found.id);
      if (current === undefined) throw notFound("Cluster", params.cluster_id);
      const settings = mergedSettings(body, current, { ...clusterRules, caller });
      await checkEngineChange(tx, current, settings.engine);
      const token = sealedToken(body.engine, settings.engine, current, tokenSealer(keys, caller.accountId));
      await updateCluster(tx, current.id, settings, token);
      if (labels !== undefined) {
        checkKeepsDefault(current.labels, labels);
        await setLabels(tx, current.id, labels);
      }
      audit.object = `cluster/${current.id}`;
      return clusterObject(await readCluster(tx, current.id));
    });
  },
});

/** Waiting commands were accepted for the current engine: a connect server, for example, runs only SQL. */
async function checkEngineChange(tx: Tx, current: ClusterRow, engine: ClusterEngine): Promise<void> {
  if (isSameEngine(current.engine, engine)) return;
  if (current.state !== "DOWN")
    throw invalid("engine", `must not change while the cluster is ${current.state}: terminate it first`);
  if (await hasUnfinished(tx, current.id)) {
    throw invalid("engine", "must not change while commands of the cluster wait or run");
  }
}
