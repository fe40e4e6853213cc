import { Type } from "typebox";
import type { PolicyObject } from "../../access/policy/policy.ts";
import type { Queryable } from "../../db/database.ts";
import { Id } from "../../http/schema.ts";
import { notFound } from "../../lib/fault.ts";
import { folderRefOf } from "./dashboard.ts";
import { findDashboard, type DashboardRow } from "./store.ts";

export const DashboardParams = Type.Object({ dashboard_id: Id });

export interface FoundDashboard extends DashboardRow {
  readonly policyObject: PolicyObject;
}

/** The `find` of operations on `notebook_dashboards/<id>`. */
export async function dashboardInPath({
  params,
  reader,
}: {
  params: { dashboard_id: number };
  reader: Queryable;
}): Promise<FoundDashboard> {
  const row = await findDashboard(reader, params.dashboard_id);
  if (row === undefined) throw notFound("Dashboard", params.dashboard_id);
  const { id, ownerId } = row;
  return { ...row, policyObject: { type: "dashboard", id, ownerId, folderRef: folderRefOf(row) } };
}
