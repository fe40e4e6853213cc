import { Type } from "typebox";
import { operation } from "../access/operation.ts";
import { notFound, invalid } from "../lib/fault.ts";
import type { WithAppControl } from "./app-control.ts";
import { appInPath } from "./app-in-path.ts";
import { AppParams } from "./app.ts";
import { deleteApp as removeApp, isInUse } from "./store.ts";

/** Ends its server, too; commands that used the app stay in the history. */
export const deleteApp = operation({
  id: "app_delete",
  summary: "Delete an app",
  description: "Only while no command that uses it is waiting or running.",
  tag: "Apps",
  method: "DELETE",
  paths: { "v1.2": "/apps/:app_id" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "app:delete" } },
  params: AppParams,
  reply: Type.Object({ status: Type.Literal("deleted") }),
  find: appInPath,

  async handle({ found, change }, { appControl }: WithAppControl) {
    const reply = await change(async (tx, audit) => {
      if (!(await removeApp(tx, found.id))) throw notFound("App", found.id);
      if (await isInUse(tx, found.id))
        throw invalid("app_id", "must not be an app whose commands are waiting or running");
      audit.object = `app/${found.id}`;
      return { status: "deleted" as const };
    });
    await appControl.stop(found.id);
    return reply;
  },
});
