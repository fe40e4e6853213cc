import { Type } from "typebox";
import { listPrincipalsPage } from "../access/members/store.ts";
import { operation } from "../access/operation.ts";
import { authoriseEach } from "../access/policy/authorise.ts";
import { ExplanationFields, explanationOf } from "../access/policy/explanation.ts";
import { OBJECT_PERMISSIONS, submitRule } from "../access/policy/object-permissions.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../http/paging.ts";
import { clusterInPath, ClusterParams } from "./cluster-in-path.ts";

/** The explanation of `submit` for every user of the account. */
export const listClusterAccess = operation({
  id: "cluster_access",
  summary: "List who may run commands on a cluster",
  description:
    "The users of the account in pages, each with the reason for the decision. The caller must be allowed to set the policy of the cluster.",
  tag: "Clusters",
  method: "GET",
  paths: { v2: "/clusters/:cluster_id/access" },
  access: {
    permission: OBJECT_PERMISSIONS.cluster.manage,
    object: { type: "cluster", action: "set-policy" },
  },
  params: ClusterParams,
  query: Type.Object({ ...PageQuery }),
  example: { params: { cluster_id: "default" } },
  reply: Type.Object({ paging_info: PagingInfo, access: Type.Array(Type.Object(ExplanationFields)) }),
  find: clusterInPath,

  async handle({ found: { policyObject: object }, query, caller, reader }) {
    const page = pageOf(query);
    const members = await listPrincipalsPage(reader, page.limit, page.offset);
    const rule = submitRule(caller.features);
    const decisions = await authoriseEach(reader, shownRows(page, members), { object, ...rule });
    const access = decisions.map(({ user, decision }) => explanationOf(decision, user, rule.row));
    return { paging_info: pagingInfo(page, members), access };
  },
});
