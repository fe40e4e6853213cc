import type { Fault } from "../../lib/fault.ts";
import type { Admitted } from "../operation.ts";
import { missingPermission, type PermissionRow } from "../permission.ts";

/**
 * The refusal if a further object of a request does not exist. Callers without the permission get the same refusal as
 * for an object that they may not use, so they do not learn what exists. Undefined: the caller has the permission.
 */
export function refusalOfUnknown(
  row: PermissionRow,
  { caller, deny }: Pick<Admitted, "caller" | "deny">,
): Fault | undefined {
  const lack = missingPermission(row, caller);
  return lack === undefined ? undefined : deny(lack);
}
