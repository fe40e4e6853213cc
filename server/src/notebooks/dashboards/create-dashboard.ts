import { Type } from "typebox";
import { operation } from "../../access/operation.ts";
import type { PermissionRow } from "../../access/permission.ts";
import { OBJECT_PERMISSIONS } from "../../access/policy/object-permissions.ts";
import { refusalOfUnknown } from "../../access/policy/unknown-object.ts";
import type { WithFolders } from "../../folders/contract.ts";
import { Id } from "../../http/schema.ts";
import { notFound } from "../../lib/fault.ts";
import { checkLocationName } from "../../lib/location-name.ts";
import { findDestination, lockDestination, nameTaken } from "../destination.ts";
import { LocationField, notebookFields } from "../notebook-fields.ts";
import { lockAuthorisedNotebook, policyObjectOf } from "../notebook-in-path.ts";
import { findNotebook } from "../store/notebooks.ts";
import { ListedDashboard, listedDashboard } from "./dashboard.ts";
import { insertDashboard, publishContent } from "./store.ts";

const MAY_CREATE: PermissionRow = { groups: ["system-user", "system-admin"], role: "notebook_dashboards:create" };

export const createDashboard = operation({
  id: "notebook_dashboard_create",
  summary: "Publish a notebook as a dashboard",
  description:
    "Copies its paragraphs and outputs. Needs update on the notebook and write on the folder. Refused if read on the " +
    "notebook is denied.",
  tag: "Dashboards",
  method: "POST",
  paths: { "v1.2": "/notebook_dashboards" },
  access: { permission: MAY_CREATE, object: { type: "folder", action: "write" }, authorises: ["note"] },
  body: Type.Object({ note_id: Id, name: notebookFields.name, location: Type.Optional(LocationField) }),
  example: { body: { note_id: 1, name: "sales", location: "Common" } },
  reply: ListedDashboard,
  find: ({ given, reader, caller }, { folders }: WithFolders) =>
    findDestination(folders, reader, { type: "notebook_dashboards", location: given().location, caller }),

  async handle({ found, body, caller, reader, authorise, deny, change }, { folders }: WithFolders) {
    const { note_id: notebookId, name } = body;
    checkLocationName("name", name);
    const notebook = await findNotebook(reader, notebookId);
    if (notebook === undefined)
      throw refusalOfUnknown(OBJECT_PERMISSIONS.note.update, { caller, deny }) ?? notFound("Notebook", notebookId);
    await authorise(policyObjectOf(notebook), "update", OBJECT_PERMISSIONS.note.update);
    return change(async (tx, audit) => {
      await lockDestination(folders, tx, found);
      await lockAuthorisedNotebook(tx, notebook, authorise, { action: "update", mode: "key share" });
      const { folderId, homeId } = found.folderRef;
      const { membershipId: ownerId, userId } = caller;
      const row = await insertDashboard(tx, { name, notebookId, folderId, homeId, ownerId, userId });
      if (row === undefined) throw nameTaken(name, found.location, "dashboard");
      await publishContent(tx, row.id, notebookId);
      audit.object = `dashboard/${row.id}`;
      return listedDashboard(row, found.location);
    });
  },
});
