import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../http/paging.ts";
import { Cluster, clusterObject } from "./cluster.ts";
import { listClusters as selectClusters } from "./store/cluster.ts";

export const listClusters = operation({
  id: "cluster_list",
  summary: "List clusters",
  description: "In the order of their creation.",
  tag: "Clusters",
  method: "GET",
  paths: { "v1.2": "/clusters" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "cluster:read" } },
  query: Type.Object(PageQuery),
  reply: Type.Object({ paging_info: PagingInfo, clusters: Type.Array(Cluster) }),

  async handle({ query, reader }) {
    const page = pageOf(query);
    const rows = await selectClusters(reader, page);
    return { paging_info: pagingInfo(page, rows), clusters: shownRows(page, rows).map(clusterObject) };
  },
});
