import type { Queryable } from "../../db/database.ts";
import { listGone } from "./store/metastore.ts";

/** Processes that belong to accounts. */
export interface AccountProcesses {
  /** Whose there are, in any order and number. */
  accounts(): number[];
  /** Settles when nothing of the account's is left. */
  stop(accountId: number): Promise<void>;
}

/** An account is deleted by the operator's command line, on one machine: what runs for it on others is ended here. */
export async function endGoneAccounts(system: Queryable, kinds: readonly AccountProcesses[]): Promise<void> {
  const known = new Set(kinds.flatMap((kind) => kind.accounts()));
  for (const accountId of await listGone(system, [...known])) {
    for (const kind of kinds) await kind.stop(accountId);
  }
}
