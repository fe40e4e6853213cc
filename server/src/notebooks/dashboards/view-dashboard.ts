import { operation } from "../../access/operation.ts";
import { OBJECT_PERMISSIONS } from "../../access/policy/object-permissions.ts";
import type { WithFolders } from "../../folders/contract.ts";
import { StreamReply } from "../../http/stream-reply.ts";
import { notFound } from "../../lib/fault.ts";
import { sendInPieces, type WithSentContents } from "../sent-contents.ts";
import { readContentTexts } from "../store/contents.ts";
import { Dashboard, folderRefOf, writeDashboard } from "./dashboard.ts";
import { dashboardInPath, DashboardParams } from "./dashboard-in-path.ts";

export const viewDashboard = operation({
  id: "notebook_dashboard_view",
  summary: "View a dashboard",
  description: "Shows the dashboard with the paragraphs and outputs of its last publication.",
  tag: "Dashboards",
  method: "GET",
  paths: { "v1.2": "/notebook_dashboards/:dashboard_id" },
  access: { permission: OBJECT_PERMISSIONS.dashboard.read, object: { type: "dashboard", action: "read" } },
  params: DashboardParams,
  reply: Dashboard,
  find: dashboardInPath,

  async handle({ found, caller, reader, requireSlot }, { folders, sentContents }: WithFolders & WithSentContents) {
    requireSlot("stream"); // before the content is read
    const { release } = sentContents.reserve(caller.accountId, found.bytes);
    try {
      const [location = ""] = await folders.locations(reader, [folderRefOf(found)]);
      const content = await readContentTexts(reader, "dashboard", found.id);
      if (content === undefined) throw notFound("Dashboard", found.id);
      return new StreamReply("application/json", sendInPieces(writeDashboard(found, location, content), release));
    } catch (error) {
      release();
      throw error;
    }
  },
});
