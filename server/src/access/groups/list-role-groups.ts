import { Type } from "typebox";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../../http/paging.ts";
import { operation } from "../operation.ts";
import { roleInPath, RoleParam } from "../roles/role.ts";
import { Group, groupOf } from "./group.ts";
import { listGroupsOfRole } from "./store.ts";

export const listRoleGroups = operation({
  id: "role_group_list",
  summary: "List the groups that have a role",
  description: "Sorted by name.",
  tag: "Roles",
  method: "GET",
  paths: { "v1.2": "/roles/:role_id/groups" },
  access: { permission: { groups: ["system-admin"], role: "role:read" } },
  params: RoleParam,
  query: Type.Object(PageQuery),
  reply: Type.Object({ paging_info: PagingInfo, groups: Type.Array(Group) }),
  find: roleInPath,

  async handle({ found, query, reader }) {
    const page = pageOf(query);
    const rows = await listGroupsOfRole(reader, found.id, page);
    return { paging_info: pagingInfo(page, rows), groups: shownRows(page, rows).map(groupOf) };
  },
});
