import { deleteUsersWithoutAccount, lockUsersOf } from "../access/members/store.ts";
import type { Tx } from "../db/database.ts";
import { invalid, notFound } from "../lib/fault.ts";
import { deleteAccountRow, firstAccountId } from "./store/operator.ts";

/**
 * Deletes an account with everything in it, and its users who have no other account. The first account belongs to the
 * operators and cannot be deleted. The caller must delete the account's files after the commit.
 */
export async function deleteAccount(tx: Tx, accountId: number): Promise<void> {
  if ((await firstAccountId(tx)) === accountId) {
    throw invalid("account", "must not be the first account: it belongs to the operators and cannot be deleted");
  }
  const userIds = await lockUsersOf(tx, accountId);
  if (!(await deleteAccountRow(tx, accountId))) throw notFound("Account", accountId);
  await deleteUsersWithoutAccount(tx, userIds);
}
