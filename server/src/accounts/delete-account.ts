import type { Tx } from "../db/database.ts";
import { invalid, notFound } from "../lib/fault.ts";
import { deleteAccountRow, deleteUsersWithoutAccount, firstAccountId, lockUsersOf } from "./store/operator.ts";

/**
 * Removes an account with all that belongs to it, and the users whom this leaves without any account. The first account
 * stays: it is the operators' own. The account's files are for the caller to remove once this is committed.
 */
export async function deleteAccount(tx: Tx, accountId: number): Promise<void> {
  if ((await firstAccountId(tx)) === accountId) {
    throw invalid("account", "must not be the first account: it is the operators' own and cannot be deleted");
  }
  const userIds = await lockUsersOf(tx, accountId);
  if (!(await deleteAccountRow(tx, accountId))) throw notFound();
  await deleteUsersWithoutAccount(tx, userIds);
}
