import type { Queryable } from "../../db/database.ts";
import type { KeyRing } from "../../lib/key-ring.ts";
import { openSecrets, sealSecrets } from "./metastore-secrets.ts";
import { listMetastoresNotUnder, replaceSealed } from "./store/sealed.ts";

/** After a key rotation: seals the secrets of up to `batch` metastores anew, and tells how many were found. */
export async function resealMetastoreSecrets(system: Queryable, keys: KeyRing, batch: number): Promise<number> {
  const rows = await listMetastoresNotUnder(system, keys.newestId, batch);
  for (const { accountId, ...sealed } of rows) {
    await replaceSealed(system, accountId, sealed, sealSecrets(keys, accountId, openSecrets(keys, accountId, sealed)));
  }
  return rows.length;
}
