import { operation } from "../../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../../access/policy/object-permissions.ts";
import type { WithFolders } from "../../folders/contract.ts";
import { notFound } from "../../lib/fault.ts";
import { Dashboard, dashboardObject, placeOf } from "./dashboard.ts";
import { dashboardInPath, DashboardParams } from "./dashboard-in-path.ts";
import { readDashboard } from "./store.ts";

export const viewDashboard = operation({
  id: "notebook_dashboard_view",
  summary: "View a dashboard",
  description: "With the paragraphs and outputs of its last publication.",
  tag: "Dashboards",
  method: "GET",
  paths: { "v1.2": "/notebook_dashboards/:dashboard_id" },
  access: { permission: OBJECT_PERMISSIONS.dashboard.read, object: { type: "dashboard", action: "read" } },
  params: DashboardParams,
  reply: Dashboard,
  find: dashboardInPath,

  async handle({ found, reader }, { folders }: WithFolders) {
    const dashboard = await readDashboard(reader, found.id);
    if (dashboard === undefined) throw notFound();
    const [location = ""] = await folders.locations(reader, [placeOf(dashboard)]);
    return dashboardObject(dashboard, location);
  },
});
