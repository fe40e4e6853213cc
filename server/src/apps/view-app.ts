import { operation } from "../access/operation.ts";
import type { WithAppControl } from "./app-control.ts";
import { APP_IN_ENVELOPE } from "./app-forms.ts";
import { appInPath } from "./app-in-path.ts";
import { App, appObject, AppParams } from "./app.ts";

export const viewApp = operation({
  id: "app_view",
  summary: "View an app",
  tag: "Apps",
  method: "GET",
  paths: { "v1.2": "/apps/:app_id", v2: "/apps/:app_id" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "app:read" } },
  params: AppParams,
  reply: App,
  forms: APP_IN_ENVELOPE,
  find: appInPath,

  async handle({ found, caller }, { appControl }: WithAppControl) {
    return appObject(found, (await appControl.listUp(caller.accountId, [found.id])).has(found.id));
  },
});
