import { Type } from "typebox";
import { notFound } from "../../http/input.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../../http/paging.ts";
import { Group, groupOf } from "../groups/group.ts";
import { listGroupsOfRole } from "../groups/store.ts";
import { operation } from "../operation.ts";
import { RoleIdParam } from "./role.ts";
import { findRole } from "./store.ts";

export const listRoleGroups = operation({
  id: "role_group_list",
  summary: "List the groups that have a role",
  description: "By name.",
  tag: "Roles",
  method: "GET",
  paths: { "v1.2": "/roles/:role_id/groups" },
  access: { permission: { groups: ["system-admin"], role: "role:read" } },
  params: RoleIdParam,
  query: Type.Object(PageQuery),
  reply: Type.Object({ paging_info: PagingInfo, groups: Type.Array(Group) }),

  async find({ params, reader }) {
    if ((await findRole(reader, { id: params.role_id, name: null })) === undefined) throw notFound();
  },

  async handle({ params, query, reader }) {
    const page = pageOf(query);
    const rows = await listGroupsOfRole(reader, params.role_id, page);
    return { paging_info: pagingInfo(page, rows), groups: shownRows(page, rows).map(groupOf) };
  },
});
