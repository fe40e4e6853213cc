import type { Tx } from "../../db/database.ts";
import { invalid } from "../../lib/fault.ts";
import { measureRoles } from "./store.ts";

/**
 * Every request reads the policies of its caller's roles, so unlimited policies of one account would slow down the
 * whole installation. Checked after the change, in its transaction.
 */
const MAX_ROLES = 1000;
const MAX_POLICY_BYTES = 1024 * 1024;

export async function checkRolesOfAccount(tx: Tx): Promise<void> {
  const { bytes, roles } = await measureRoles(tx);
  if (roles > MAX_ROLES) throw invalid("name", `cannot be added: an account can have at most ${MAX_ROLES} roles`);
  if (bytes > MAX_POLICY_BYTES) {
    throw invalid("policies", `of all roles of an account can have at most ${MAX_POLICY_BYTES} bytes in total`);
  }
}
