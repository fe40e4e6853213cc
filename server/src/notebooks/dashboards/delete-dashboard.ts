import { Type } from "typebox";
import { operation } from "../../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../../access/policy/object-permissions.ts";
import { notFound } from "../../lib/fault.ts";
import { dashboardInPath, DashboardParams } from "./dashboard-in-path.ts";
import { deleteDashboard as removeDashboard } from "./store.ts";

export const deleteDashboard = operation({
  id: "notebook_dashboard_delete",
  summary: "Delete a dashboard",
  description: "Its notebook stays.",
  tag: "Dashboards",
  method: "DELETE",
  paths: { "v1.2": "/notebook_dashboards/:dashboard_id" },
  access: { permission: OBJECT_PERMISSIONS.dashboard.delete, object: { type: "dashboard", action: "delete" } },
  params: DashboardParams,
  reply: Type.Object({ status: Type.Literal("deleted") }),
  find: dashboardInPath,

  async handle({ found, change }) {
    return change(async (tx, audit) => {
      if (!(await removeDashboard(tx, found.id))) throw notFound("Dashboard", found.id);
      audit.object = `dashboard/${found.id}`;
      return { status: "deleted" as const };
    });
  },
});
