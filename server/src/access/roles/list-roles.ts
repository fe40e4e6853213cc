import { Type } from "typebox";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../../http/paging.ts";
import { operation } from "../operation.ts";
import { Role, roleOf } from "./role.ts";
import { listRoles as selectRoles } from "./store.ts";

export const listRoles = operation({
  id: "role_list",
  summary: "List roles",
  description: "Sorted by name.",
  tag: "Roles",
  method: "GET",
  paths: { "v1.2": "/roles" },
  access: { permission: { groups: ["system-admin"], role: "role:read" } },
  query: Type.Object(PageQuery),
  reply: Type.Object({ paging_info: PagingInfo, roles: Type.Array(Role) }),

  async handle({ query, reader }) {
    const page = pageOf(query);
    const rows = await selectRoles(reader, page);
    return { paging_info: pagingInfo(page, rows), roles: shownRows(page, rows).map(roleOf) };
  },
});
