import { operation } from "../access/operation.ts";
import { notFound } from "../lib/fault.ts";
import type { WithAppControl } from "./app-control.ts";
import { APP_IN_ENVELOPE } from "./app-forms.ts";
import { appInPath } from "./app-in-path.ts";
import { App, appObject, AppParams } from "./app.ts";
import { raiseGeneration } from "./store.ts";

/** The next command of the app starts its server again. */
export const stopApp = operation({
  id: "app_stop",
  summary: "Stop an app",
  description:
    "Ends its warm servers on every node; commands that run on them end as error. The response waits up to ten seconds " +
    "for the nodes: status is UP if one of them still has a server then. An app that is DOWN stays DOWN.",
  tag: "Apps",
  method: "PUT",
  paths: { "v1.2": "/apps/:app_id/stop", v2: "/apps/:app_id/stop" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "app:update" } },
  params: AppParams,
  reply: App,
  forms: APP_IN_ENVELOPE,
  find: appInPath,

  async handle({ found, caller, change }, { appControl }: WithAppControl) {
    await change(async (tx, audit) => {
      if (!(await raiseGeneration(tx, found.id))) throw notFound("App", found.id);
      audit.object = `app/${found.id}`;
    });
    await appControl.stop(found.id);
    return appObject(found, (await appControl.listUp(caller.accountId, [found.id])).has(found.id));
  },
});
