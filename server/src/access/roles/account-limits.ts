import type { Tx } from "../../db/database.ts";
import { invalid } from "../../lib/fault.ts";
import { measureRoles } from "./store.ts";

/**
 * Every request reads the policies of its caller's roles, so an account that could pile them up without end would slow
 * the whole installation down. Asked after the change that may break it, in its transaction.
 */
const MAX_ROLES = 1000;
const MAX_POLICY_BYTES = 1024 * 1024;

export async function checkRolesOfAccount(tx: Tx): Promise<void> {
  const { bytes, roles } = await measureRoles(tx);
  if (roles > MAX_ROLES) throw invalid("name", `must not be that of one role more than the ${MAX_ROLES} of an account`);
  if (bytes > MAX_POLICY_BYTES) {
    throw invalid("policies", `of all roles of the account must not have more than ${MAX_POLICY_BYTES} bytes together`);
  }
}
