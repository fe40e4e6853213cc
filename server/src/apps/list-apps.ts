import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../http/paging.ts";
import type { WithAppControl } from "./app-control.ts";
import { App, appObject } from "./app.ts";
import { listApps as selectApps } from "./store.ts";

export const listApps = operation({
  id: "app_list",
  summary: "List apps",
  description: "Sorted by creation.",
  tag: "Apps",
  method: "GET",
  paths: { "v1.2": "/apps" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "app:read" } },
  query: Type.Object(PageQuery),
  reply: Type.Object({ paging_info: PagingInfo, apps: Type.Array(App) }),

  async handle({ query, caller, reader }, { appControl }: WithAppControl) {
    const page = pageOf(query);
    const rows = await selectApps(reader, page);
    const shown = shownRows(page, rows);
    const up = await appControl.listUp(
      caller.accountId,
      shown.map(({ id }) => id),
    );
    return { paging_info: pagingInfo(page, rows), apps: shown.map((row) => appObject(row, up.has(row.id))) };
  },
});
