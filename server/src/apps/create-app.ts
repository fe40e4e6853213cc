import { operation } from "../access/operation.ts";
import { checkSparkConfig } from "../engines/spark-submit/spark-config.ts";
import { invalid } from "../lib/fault.ts";
import { checkName } from "../lib/name-rule.ts";
import { CREATE_FORMS } from "./app-forms.ts";
import { App, AppBody, appObject } from "./app.ts";
import { countApps, insertApp } from "./store.ts";

const MAX_APPS = 1000;

export const createApp = operation({
  id: "app_create",
  summary: "Create an app",
  description: "Its configuration applies to the commands that use it; their own arguments take precedence.",
  tag: "Apps",
  method: "POST",
  paths: { "v1.2": "/apps", v2: "/apps" },
  access: { permission: { groups: ["system-user", "system-admin"], role: "app:create" } },
  body: AppBody,
  example: { body: { name: "reports", config: { "spark.sql.shuffle.partitions": "8" } } },
  reply: App,
  forms: CREATE_FORMS,

  async handle({ body, change }) {
    const name = checkName("name", body.name);
    const config = checkSparkConfig(body.config ?? {}, "config");
    return change(async (tx, audit) => {
      const row = await insertApp(tx, name, config);
      if ((await countApps(tx)) > MAX_APPS) {
        throw invalid("name", `cannot be added: an account can have at most ${MAX_APPS} apps`);
      }
      audit.object = `app/${row.id}`;
      return appObject(row, false);
    });
  },
});
