import { operation } from "../../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../../access/policy/object-permissions.ts";
import type { Queryable } from "../../db/database.ts";
import type { WithFolders } from "../../folders/contract.ts";
import { invalid, notFound, type Fault } from "../../lib/fault.ts";
import { lockJudgedNote, policyObjectOf } from "../note-in-path.ts";
import { findNote, type NoteRow } from "../store/notes.ts";
import { ListedDashboard, listedDashboard, placeOf } from "./dashboard.ts";
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
    judges: ["note"],
  },
  params: DashboardParams,
  reply: ListedDashboard,
  find: dashboardInPath,

  async handle({ found, reader, authorise, change }, { folders }: WithFolders) {
    const note = await publishedNote(reader, found.noteId);
    await authorise(policyObjectOf(note), "update", OBJECT_PERMISSIONS.note.update);
    return change(async (tx, audit) => {
      await lockJudgedNote(tx, note, authorise, { action: "update", mode: "key share", missing: noteDeleted });
      if (!(await lockDashboard(tx, found.id))) throw notFound("Dashboard", found.id);
      const row = await publishContent(tx, found.id, note.id);
      audit.object = `dashboard/${found.id}`;
      const [location = ""] = await folders.locations(tx, [placeOf(row)]);
      return listedDashboard(row, location);
    });
  },
});

async function publishedNote(reader: Queryable, id: number | null): Promise<NoteRow> {
  const note = id === null ? undefined : await findNote(reader, id);
  if (note === undefined) throw noteDeleted();
  return note;
}

function noteDeleted(): Fault {
  return invalid("note_id", "names a notebook that was deleted. Publish another notebook as a new dashboard.");
}
