import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../http/paging.ts";
import type { WithAppControl } from "./app-control.ts";
import { APPS_AS_ARRAY } from "./app-forms.ts";
import { App, appObject } from "./app.ts";
import { listApps as selectApps } from "./store.ts";

export const listApps = operation({
  id: "app_list",
  summary: "List apps",
  description: "Sorted by creation.",
  tag: "Apps",
  method: "GET",
  paths: { "v1.2": "/apps", v2: "/apps" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "app:read" } },
  query: Type.Object(PageQuery),
  reply: Type.Object({ paging_info: PagingInfo, apps: Type.Array(App) }),
  forms: { "v1.2": { description: "All of them, unless `page` or `per_page` is given.", list: APPS_AS_ARRAY } },

  async handle({ query, afterId, caller, reader }, { appControl }: WithAppControl) {
    const page = pageOf(query, afterId);
    const rows = await selectApps(reader, page);
    const shown = shownRows(page, rows);
    const up = await appControl.listUp(
      caller.accountId,
      shown.map(({ id }) => id),
    );
    return { paging_info: pagingInfo(page, rows), apps: shown.map((row) => appObject(row, up.has(row.id))) };
  },
});
