import { Type } from "typebox";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../../http/paging.ts";
import { operation } from "../operation.ts";
import { Group, groupOf } from "./group.ts";
import { listGroups as selectGroups } from "./store.ts";

export const listGroups = operation({
  id: "group_list",
  summary: "List groups",
  description: "Sorted by name.",
  tag: "Groups",
  method: "GET",
  paths: { "v1.2": "/groups" },
  access: { permission: { groups: ["system-admin"], role: "group:read" } },
  query: Type.Object(PageQuery),
  reply: Type.Object({ paging_info: PagingInfo, groups: Type.Array(Group) }),

  async handle({ query, reader }) {
    const page = pageOf(query);
    const rows = await selectGroups(reader, page);
    return { paging_info: pagingInfo(page, rows), groups: shownRows(page, rows).map(groupOf) };
  },
});
