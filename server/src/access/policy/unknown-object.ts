import type { Fault } from "../../lib/fault.ts";
import type { Admitted } from "../operation.ts";
import { missingPermission, type PermissionRow } from "../permission.ts";

/**
 * The refusal of a further object of a request that does not exist. Callers whom the table does not admit get the same
 * refusal as for an object that they may not use, so they do not learn what exists. Undefined: the table admits them.
 */
export function refusalOfUnknown(
  row: PermissionRow,
  { caller, deny }: Pick<Admitted, "caller" | "deny">,
): Fault | undefined {
  const lack = missingPermission(row, caller);
  return lack === undefined ? undefined : deny(lack);
}
