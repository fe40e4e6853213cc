import type { Queryable } from "../db/database.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { secretsContext } from "./command-secrets.ts";
import { listSecretsNotUnder, replaceSecrets } from "./store/sealed.ts";

/**
 * After a key rotation: seals the secrets of up to `batch` commands anew under the newest key and tells how many were
 * found. A command whose secrets change meanwhile is taken again in a later batch.
 */
export async function resealCommandSecrets(system: Queryable, keys: KeyRing, batch: number): Promise<number> {
  const rows = await listSecretsNotUnder(system, keys.newestId, batch);
  if (rows.length === 0) return 0;
  const sealed = rows.map(({ id, accountId, secrets }) => {
    const context = secretsContext(accountId);
    return { id, before: secrets, secrets: keys.seal(keys.open(secrets, context), context) };
  });
  await replaceSecrets(system, sealed);
  return rows.length;
}
