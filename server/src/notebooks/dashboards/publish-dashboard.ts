import { operation } from "../../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../../access/policy/object-permissions.ts";
import type { Queryable } from "../../db/database.ts";
import type { WithFolders } from "../../folders/contract.ts";
import { invalid, notFound, type Fault } from "../../lib/fault.ts";
import { lockAuthorisedNotebook, policyObjectOf } from "../notebook-in-path.ts";
import { findNotebook, type NotebookRow } from "../store/notebooks.ts";
import { ListedDashboard, listedDashboard, folderRefOf } from "./dashboard.ts";
import { dashboardInPath, DashboardParams } from "./dashboard-in-path.ts";
import { lockDashboard, publishContent } from "./store.ts";

export const publishDashboard = operation({
  id: "notebook_dashboard_publish",
  summary: "Publish a dashboard again",
  description:
    "Replaces its content with that of its notebook. Needs update on the notebook and write on the folder. Refused if " +
    "read on the notebook or the dashboard is denied.",
  tag: "Dashboards",
  method: "PUT",
  paths: { "v1.2": "/notebook_dashboards/:dashboard_id/publish" },
  access: {
    permission: OBJECT_PERMISSIONS.dashboard.update,
    object: { type: "dashboard", action: "update" },
    authorises: ["note"],
  },
  params: DashboardParams,
  reply: ListedDashboard,
  find: dashboardInPath,

  async handle({ found, reader, authorise, change }, { folders }: WithFolders) {
    const notebook = await publishedNotebook(reader, found.notebookId);
    await authorise(policyObjectOf(notebook), "update", OBJECT_PERMISSIONS.note.update);
    return change(async (tx, audit) => {
      await lockAuthorisedNotebook(tx, notebook, authorise, {
        action: "update",
        mode: "key share",
        missing: notebookDeleted,
      });
      if (!(await lockDashboard(tx, found.id))) throw notFound("Dashboard", found.id);
      const row = await publishContent(tx, found.id, notebook.id);
      audit.object = `dashboard/${found.id}`;
      const [location = ""] = await folders.locations(tx, [folderRefOf(row)]);
      return listedDashboard(row, location);
    });
  },
});

async function publishedNotebook(reader: Queryable, id: number | null): Promise<NotebookRow> {
  const notebook = id === null ? undefined : await findNotebook(reader, id);
  if (notebook === undefined) throw notebookDeleted();
  return notebook;
}

function notebookDeleted(): Fault {
  return invalid("note_id", "names a notebook that was deleted. Publish another notebook as a new dashboard.");
}
