import type { Database } from "../db/database.ts";
import type { Contribution } from "../engines/spark-home/contribution.ts";
import { Fault } from "../lib/fault.ts";
import { findApp } from "./store.ts";

/** The contribution of an app to the JVMs of its commands: its configuration and its number of stops. */
export function sparkApp(
  db: Database,
): (accountId: number, appId: number) => Promise<Pick<Contribution, "properties" | "generation">> {
  return async (accountId, appId) => {
    const app = await findApp(db.accountReader(accountId), appId);
    if (app === undefined) throw new Fault("invalid", "its app was deleted");
    return { properties: app.config, generation: app.generation };
  };
}
