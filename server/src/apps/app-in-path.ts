import type { Queryable } from "../db/database.ts";
import { notFound } from "../lib/fault.ts";
import { findApp, type AppRow } from "./store.ts";

/** For `find`: the app whose id is in the path. */
export async function appInPath({
  params,
  reader,
}: {
  params: { app_id: number };
  reader: Queryable;
}): Promise<AppRow> {
  const row = await findApp(reader, params.app_id);
  if (row === undefined) throw notFound("App", params.app_id);
  return row;
}
