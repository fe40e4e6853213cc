import type { Queryable } from "../../db/database.ts";
import { listDeleted } from "./store/metastore.ts";

/** The processes of one kind on this node. */
export interface AccountProcesses {
  /** The accounts that have processes; may contain duplicates. */
  accounts(): number[];
  /** Resolves when the account's processes have ended. */
  stop(accountId: number): Promise<void>;
}

/** The operator's command line deletes an account on one machine. This ends its processes on the others. */
export async function endProcessesOfDeletedAccounts(
  system: Queryable,
  kinds: readonly AccountProcesses[],
): Promise<void> {
  const known = new Set(kinds.flatMap((kind) => kind.accounts()));
  for (const accountId of await listDeleted(system, [...known])) {
    for (const kind of kinds) await kind.stop(accountId);
  }
}
