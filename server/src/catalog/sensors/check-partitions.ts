import { Fault } from "../../lib/fault.ts";
import type { AccountTables } from "../tables/account-tables.ts";
import type { PartitionQuestion } from "../tables/partition-question.ts";

/** In the order of the questions: the answer, or why it cannot be given. */
export async function checkPartitions(
  accountTables: AccountTables,
  accountId: number,
  questions: readonly PartitionQuestion[],
): Promise<(boolean | Fault)[]> {
  const answers = await accountTables.hasPartitions(accountId, questions);
  return answers.map((answer) => answer ?? new Fault("invalid", "Table can't be found in metastore"));
}
