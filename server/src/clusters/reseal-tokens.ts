import type { Database } from "../db/database.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { tokenContext } from "./cluster-token.ts";
import { countTokensNotUnder, lockTokensNotUnder, sendToken } from "./store/sealed.ts";

/**
 * After a key rotation: seals the tokens of up to `batch` clusters anew under the newest key, and tells how many are
 * left. Idempotent and safe beside edits and other nodes.
 */
export async function resealClusterTokens(db: Database, keys: KeyRing, batch: number): Promise<number> {
  const { newestId } = keys;
  await db.asSystem(async (tx) => {
    for (const { id, accountId, token } of await lockTokensNotUnder(tx, newestId, batch)) {
      const context = tokenContext(accountId);
      sendToken(tx, id, keys.seal(keys.open(token, context), context));
    }
  });
  return countTokensNotUnder(db.system, newestId);
}
