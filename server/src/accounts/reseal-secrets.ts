import type { Database } from "../db/database.ts";
import type { KeyRing } from "../lib/key-ring.ts";
import { openCredential, CREDENTIALS, sealCredentials, type Credential } from "./credentials.ts";
import type { Secret } from "../lib/secret.ts";
import { sendCredentials } from "./store/founding.ts";
import { countSealedBefore, lockSealedBefore } from "./store/sealed.ts";

/**
 * After a key rotation: seals the keys of up to `batch` accounts anew under the newest key, and tells how many accounts
 * are left. Idempotent and safe beside edits and other nodes. Kept idempotent replies are not among them: they expire
 * within their retention, and an old key must be kept that long.
 */
export async function resealSecrets(db: Database, keys: KeyRing, batch: number): Promise<number> {
  const newestId = keys.newestId;
  await db.asSystem(async (tx) => {
    for (const account of await lockSealedBefore(tx, newestId, batch)) {
      const secrets = new Map<Credential, Secret>();
      for (const name of CREDENTIALS) {
        const secret = openCredential(keys, account, name);
        if (secret !== undefined) secrets.set(name, secret);
      }
      sendCredentials(tx, account.id, sealCredentials(secrets, keys, account));
    }
  });
  return countSealedBefore(db.system, newestId);
}
