import { Type } from "typebox";
import { listMembersPage } from "../access/members/store.ts";
import { UserEntry, userEntry } from "../access/members/user-entry.ts";
import { operation } from "../access/operation.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../http/paging.ts";

/** The users of get_users, paged. */
export const listUsers = operation({
  id: "user_list",
  summary: "List the users of the account in pages",
  tag: "Users",
  method: "GET",
  paths: { "v1.2": "/users" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "account:read" } },
  query: Type.Object({ ...PageQuery }),
  reply: Type.Object({ paging_info: PagingInfo, users: Type.Array(UserEntry) }),

  async handle({ query, reader }) {
    const page = pageOf(query);
    const rows = await listMembersPage(reader, page.limit, page.offset);
    return { paging_info: pagingInfo(page, rows), users: shownRows(page, rows).map(userEntry) };
  },
});
