import { Type } from "typebox";
import { operation } from "../../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../../access/policy/object-permissions.ts";
import type { WithFolders } from "../../folders/contract.ts";
import { pageOf, PageQuery, PagingInfo, pagingInfo, shownRows } from "../../http/paging.ts";
import { folderToList } from "../folder-to-list.ts";
import { LocationField } from "../notebook-fields.ts";
import { listRows } from "../store/list-readable.ts";
import { ListedDashboard, listedDashboard, folderRefOf } from "./dashboard.ts";
import { DASHBOARD_COLUMNS, type DashboardRow } from "./store.ts";

const LIST = { table: "dashboard", tree: "notebook_dashboards", columns: DASHBOARD_COLUMNS } as const;

export const listDashboards = operation({
  id: "notebook_dashboard_list",
  summary: "List dashboards",
  description: "Lists the dashboards that the caller may read, by folder, without their content.",
  tag: "Dashboards",
  method: "GET",
  paths: { "v1.2": "/notebook_dashboards" },
  access: { permission: OBJECT_PERMISSIONS.dashboard.read, lists: "dashboard" },
  query: Type.Object({
    ...PageQuery,
    location: Type.Optional(
      Type.String({
        ...LocationField,
        description: "Only dashboards directly in this folder; by default those of all folders",
      }),
    ),
  }),
  reply: Type.Object({ paging_info: PagingInfo, notebook_dashboards: Type.Array(ListedDashboard) }),

  async handle({ query, reader, readable, caller }, { folders }: WithFolders) {
    const page = pageOf(query);
    const sought = { type: "notebook_dashboards", location: query.location, caller } as const;
    const scope = readable();
    const folderRef = await folderToList(folders, reader, sought, scope);
    const rows = folderRef === null ? [] : await listRows<DashboardRow>(reader, LIST, scope, page, folderRef);
    const shown = shownRows(page, rows);
    const locations = await folders.locations(reader, shown.map(folderRefOf));
    return {
      paging_info: pagingInfo(page, rows),
      notebook_dashboards: shown.map((row, index) => listedDashboard(row, locations[index] ?? "")),
    };
  },
});
