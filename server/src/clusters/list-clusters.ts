import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../access/policy/object-permissions.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../http/paging.ts";
import { Cluster, clusterObject } from "./cluster.ts";
import { CLUSTERS_IN_ENVELOPES } from "./cluster-forms.ts";
import { listClusters as selectClusters } from "./store/cluster.ts";

export const listClusters = operation({
  id: "cluster_list",
  summary: "List clusters",
  description: "Those that the caller may read, in the order of their creation.",
  tag: "Clusters",
  method: "GET",
  paths: { "v1.2": "/clusters", v2: "/clusters" },
  access: { permission: OBJECT_PERMISSIONS.cluster.read, lists: "cluster" },
  query: Type.Object(PageQuery),
  reply: Type.Object({ paging_info: PagingInfo, clusters: Type.Array(Cluster) }),
  forms: { "v1.2": { description: "All of them, unless `page` or `per_page` is given.", list: CLUSTERS_IN_ENVELOPES } },

  async handle({ query, afterId, reader, readable }) {
    const page = pageOf(query, afterId);
    const rows = await selectClusters(reader, page, readable());
    return { paging_info: pagingInfo(page, rows), clusters: shownRows(page, rows).map(clusterObject) };
  },
});
