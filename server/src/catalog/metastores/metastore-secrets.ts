import { randomBytes } from "node:crypto";
import { sealContext, type SealedColumn } from "../../db/sealed-column.ts";
import type { KeyRing } from "../../lib/key-ring.ts";
import { Secret } from "../../lib/secret.ts";
import type { MetastoreSecret, SealedSecrets } from "./store/metastore.ts";

export type OpenSecrets = Readonly<Record<MetastoreSecret, Secret>>;

/** Only letters and digits, so that they need no escaping in any file format. */
export function newSecret(): Secret {
  return new Secret(randomBytes(24).toString("hex"));
}

const COLUMNS: Record<MetastoreSecret, SealedColumn> = {
  password: { table: "metastore", column: "password", accountColumn: "account_id" },
  secret: { table: "metastore", column: "secret", accountColumn: "account_id" },
};
export const metastoreSecretColumns: readonly SealedColumn[] = Object.values(COLUMNS);

export function sealSecret(keys: KeyRing, accountId: number, name: MetastoreSecret, secret: Secret): Buffer {
  return keys.seal(Buffer.from(secret.reveal()), sealContext(COLUMNS[name], accountId));
}

export function sealSecrets(keys: KeyRing, accountId: number, { password, secret }: OpenSecrets): SealedSecrets {
  return {
    password: sealSecret(keys, accountId, "password", password),
    secret: sealSecret(keys, accountId, "secret", secret),
  };
}

export function openSecret(keys: KeyRing, accountId: number, name: MetastoreSecret, sealed: Buffer): Secret {
  return new Secret(keys.open(sealed, sealContext(COLUMNS[name], accountId)).toString("utf8"));
}

export function openSecrets(keys: KeyRing, accountId: number, sealed: SealedSecrets): OpenSecrets {
  return {
    password: openSecret(keys, accountId, "password", sealed.password),
    secret: openSecret(keys, accountId, "secret", sealed.secret),
  };
}
